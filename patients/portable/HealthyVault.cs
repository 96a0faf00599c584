// patient:  healthy-vault
// kind:     control
// illness:  none: a vault that holds known numbers of known things in handles of every kind, static fields and locals
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using Patients;

namespace Vault
{
    [Patient("healthy-vault")]
    internal static class House
    {
        private static void Run(PatientArguments args)
        {
            Room.Furnish();
            Shelf<string>.Items = new Jar[3];
            Shelf<int>.Items = new Jar[4];
            for (var i = 1; i <= 3; i++)
            {
                Background.WaitUntilBlocked(Background.Start($"clerk-{i}", Clerk.Serve));
            }

            Background.WaitUntilBlocked(Background.Start("keeper", Keeper.Watch));
            Patient.Ready();
        }
    }

    internal sealed class Coin { }

    internal sealed class Receipt { }

    internal sealed class Ledger { }

    internal sealed class Door { }

    internal sealed class Jar { }

    internal sealed class Desk { }

    internal sealed class Lantern { }

    internal sealed class Key { }

    internal sealed class Secret { }

    internal struct Grain
    {
        public int Weight;
    }

    internal struct Spot
    {
        public Door Nearest;
    }

    internal static class Room
    {
        private static readonly List<GCHandle> s_handles = new List<GCHandle>();
        private static readonly List<object> s_kept = new List<object>();
        private static readonly Key[] s_keys = new Key[25];
        private static readonly ConditionalWeakTable<Key, Secret> s_secrets = new ConditionalWeakTable<Key, Secret>();
        private static Spot s_spot;

        private static Door Front { get; } = new Door();

        public static void Furnish()
        {
            s_spot.Nearest = Front;
            Take(100, GCHandleType.Normal, () => new Coin());
            Take(30, GCHandleType.Pinned, () => new Grain[8]);
            Take(40, GCHandleType.Weak, () => Kept(new Receipt()));
            Take(20, GCHandleType.WeakTrackResurrection, () => Kept(new Ledger()));
            for (var i = 0; i < s_keys.Length; i++)
            {
                s_keys[i] = new Key();
                s_secrets.Add(s_keys[i], new Secret());
            }
        }

        private static object Kept(object thing)
        {
            s_kept.Add(thing);
            return thing;
        }

        private static void Take(int count, GCHandleType kind, Func<object> make)
        {
            for (var i = 0; i < count; i++)
            {
                s_handles.Add(GCHandle.Alloc(make(), kind));
            }
        }
    }

    internal static class Shelf<T>
    {
        public static Jar[] Items;
    }

    internal static class Clerk
    {
        [ThreadStatic]
        private static Desk t_desk;

        public static void Serve()
        {
            t_desk = new Desk();
            Thread.Sleep(Timeout.Infinite);
        }
    }

    internal static class Keeper
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Watch()
        {
            var lantern = new Lantern();
            Thread.Sleep(Timeout.Infinite);
            GC.KeepAlive(lantern);
        }
    }
}
