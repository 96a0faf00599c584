// patient:  healthy-mixed-load
// kind:     control
// illness:  none: a kitchen that cooks a little of everything: it allocates, fails now and then, starts short threads and compiles code
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10
// How much of each a second: `dishes` (allocation), `mishaps` (exceptions), `helpers` (threads), `recipes` (compiled code). Only
// if said: `cleanings` a second, which are collections in the background once `pantry` MB are kept (below 4 the collector does
// without), and `guests` threads that wait `depth` calls deep.

using System;
using System.Linq.Expressions;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Kitchen
{
    [Patient("healthy-mixed-load")]
    internal static class Restaurant
    {
        private static readonly CountdownEvent s_started = new CountdownEvent(4);

        private static void Run(PatientArguments args)
        {
            Serve("dishes", args.Int("dishes", 200), Chef.Cook);
            Serve("mishaps", args.Int("mishaps", 1), Chef.Drop);
            Serve("helpers", args.Int("helpers", 2), Chef.CallHelper);
            Serve("recipes", args.Int("recipes", 2), Chef.LearnRecipe);
            Chef.Stock(args.Int("pantry", 0));
            var cleanings = args.Int("cleanings", 0);
            if (cleanings > 0)
            {
                Background.StartPaced("cleanings", cleanings, long.MaxValue, Chef.Clean);
            }

            DiningRoom.Seat(args.Int("guests", 0), args.Int("depth", 20));
            s_started.Wait();
            Patient.Ready();
        }

        /// <summary>Each kind of work was done once before the program is ready.</summary>
        private static void Serve(string name, int perSecond, Action work) => Background.Start(name, () =>
        {
            work();
            s_started.Signal();
            Background.StartPaced(name, perSecond, long.MaxValue, work).Join();
        });
    }

    internal static class Chef
    {
        private static readonly byte[][] s_shelf = new byte[64][];
        private static byte[][] s_pantry;
        private static int s_dishes;
        private static int s_recipes;

        public static void Stock(int megabytes)
        {
            s_pantry = new byte[megabytes * 1000][];
            for (var jar = 0; jar < s_pantry.Length; jar++)
            {
                s_pantry[jar] = new byte[1000];
            }
        }

        /// <summary>Some live long enough to be promoted; what is kept has a bound.</summary>
        public static void Cook()
        {
            for (var part = 0; part < 50; part++)
            {
                s_shelf[s_dishes++ & 63] = new byte[1000];
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Drop()
        {
            try
            {
                throw new InvalidOperationException("a plate fell");
            }
            catch (InvalidOperationException)
            {
                s_dishes--;
            }
        }

        public static void CallHelper() => Background.Start("helper", Cook).Join();

        public static void LearnRecipe()
        {
            var salt = Expression.Parameter(typeof(int), "salt");
            var recipe = Expression.Lambda<Func<int, int>>(Expression.Add(salt, Expression.Constant(s_recipes++)), salt);
            recipe.Compile()(1);
        }

        public static void Clean() => GC.Collect(2, GCCollectionMode.Forced, blocking: false);
    }

    internal static class DiningRoom
    {
        private const int StackBytes = 512 * 1024;
        private static readonly ManualResetEvent s_closing = new ManualResetEvent(false);

        public static void Seat(int guests, int depth)
        {
            if (guests == 0)
            {
                return;
            }

            using (var seated = new CountdownEvent(guests))
            {
                for (var guest = 0; guest < guests; guest++)
                {
                    new Thread(() => Dine(depth, seated), StackBytes) { Name = "guest", IsBackground = true }.Start();
                }

                seated.Wait();
            }
        }

        /// <summary>One call per course; the last one waits until the restaurant closes.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Dine(int courses, CountdownEvent seated)
        {
            if (courses <= 1)
            {
                seated.Signal();
                s_closing.WaitOne();
                return 0;
            }

            return 1 + Dine(courses - 1, seated);
        }
    }
}
