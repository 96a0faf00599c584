// patient:  healthy-code-shapes
// kind:     control
// illness:  one waiting thread in each shape of code that the compiler rewrites: async methods, iterators, lambdas, local functions
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10
// Its symbol file is embedded in its assembly. Each line that a thread waits in is marked with the name of the shape.

using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Patients;

namespace Gallery
{
    [Patient("healthy-code-shapes")]
    internal static class Exhibition
    {
        private static void Run(PatientArguments args)
        {
            var threads = new[]
            {
                Background.Start("plain", Shapes.Plain),
                Background.Start("lambda", Shapes.Lambda),
                Background.Start("second-lambda", Shapes.SecondLambda),
                Background.Start("closure", () => Shapes.Closure(1)),
                Background.Start("local", Shapes.Local),
                Background.Start("local-closure", () => Shapes.LocalClosure(1)),
                Background.Start("async", () => Shapes.WaitAsync().Wait()),
                Background.Start("async-generic", () => Shapes.WaitAsync(1).Wait()),
                Background.Start("async-lambda", Shapes.AsyncLambda),
                Background.Start("async-local", Shapes.AsyncLocal),
                Background.Start("iterator", () => Shapes.Items().Count()),
                Background.Start("async-iterator", () => Shapes.ItemsAsync().GetAsyncEnumerator().MoveNextAsync()),
                Background.Start("generic-method", () => Shapes.Generic("text")),
                Background.Start("generic-type", () => new Frame<int>.Corner<string>().Hang(1, "text")),
                Background.Start("property", () => GC.KeepAlive(new Frame<string>().Size)),
                Background.Start("explicit", () => ((IEnumerable)new Frame<int>()).GetEnumerator()),
            };
            Background.WaitUntilBlocked(threads);
            Patient.Ready();
        }
    }

    internal static class Shapes
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Wait(int times = 1)
        {
            while (times > 0)
            {
                Thread.Sleep(Timeout.Infinite);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Plain()
        {
            Wait(); // plain
            GC.KeepAlive(null);
        }

        public static void Lambda()
        {
            Action wait = () =>
            {
                GC.KeepAlive(null);
                Wait(); // lambda
                GC.KeepAlive(null);
            };
            wait();
        }

        public static void SecondLambda()
        {
            Func<int> first = () => 1;
            Action<int> second = times =>
            {
                Wait(times); // second-lambda
                GC.KeepAlive(null);
            };
            second(first());
        }

        public static void Closure(int times)
        {
            Action wait = () =>
            {
                Wait(times); // closure
                GC.KeepAlive(null);
            };
            wait();
        }

        public static void Local()
        {
            Hold();
            GC.KeepAlive(null);

            void Hold()
            {
                Wait(); // local
                GC.KeepAlive(null);
            }
        }

        public static void LocalClosure(int times)
        {
            Action wait = Hold;
            wait();
            GC.KeepAlive(null);

            void Hold()
            {
                Wait(times); // local-closure
                GC.KeepAlive(null);
            }
        }

        public static async Task WaitAsync()
        {
            await Task.CompletedTask;
            Wait(); // async
            await Task.Yield();
        }

        public static async Task<T> WaitAsync<T>(T value)
        {
            Wait(); // async-generic
            await Task.Yield();
            return value;
        }

        public static void AsyncLambda()
        {
            Func<Task> wait = async () =>
            {
                Wait(); // async-lambda
                await Task.Yield();
            };
            wait();
        }

        public static void AsyncLocal()
        {
            HoldAsync().Wait();

            async Task HoldAsync()
            {
                Wait(); // async-local
                await Task.Yield();
            }
        }

        public static IEnumerable<int> Items()
        {
            yield return 1;
            Wait(); // iterator
            yield return 2;
        }

        public static async IAsyncEnumerable<int> ItemsAsync()
        {
            Wait(); // async-iterator
            await Task.Yield();
            yield return 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static T Generic<T>(T value)
        {
            Wait(); // generic-method
            return value;
        }
    }

    internal sealed class Frame<T> : IEnumerable
    {
        public T Size
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            get
            {
                Shapes.Wait(); // property
                return default;
            }
        }

        IEnumerator IEnumerable.GetEnumerator()
        {
            Shapes.Wait(); // explicit
            return null;
        }

        internal sealed class Corner<U>
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public void Hang(T first, U second)
            {
                Shapes.Wait(); // generic-type
                GC.KeepAlive(first);
                GC.KeepAlive(second);
            }
        }
    }
}
