// Objects of the patient known-heap that do not hang on an ordinary static field.

using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using Patients;

namespace Museum
{
    /// <summary>40 bytes, held by a strong handle alone.</summary>
    internal sealed class LentPainting
    {
        public long Number, Insurance, Days;
    }

    /// <summary>40 bytes, held by a pinned handle alone.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal sealed class LentStatue
    {
        public long Number, Insurance, Days;
    }

    /// <summary>24 bytes, with weak handles; every second one is in an array, too.</summary>
    internal sealed class Guest
    {
        public long Number;
    }

    /// <summary>24 bytes: the key of a table.</summary>
    internal sealed class Member
    {
        public long Number;
    }

    /// <summary>48 bytes, kept by the table as long as its key lives.</summary>
    internal sealed class Badge
    {
        public long Number, Room, Floor, Day;
    }

    /// <summary>24 bytes, caught by a lambda.</summary>
    internal sealed class Secret
    {
        public long Number;
    }

    /// <summary>24 bytes, with a finalizer that has nothing to do yet.</summary>
    internal sealed class Lamp
    {
        public long Number;

        ~Lamp() => Number = 0;
    }

    /// <summary>Handles, a table of weak keys, a lambda, an object with a finalizer.</summary>
    internal static class Loans
    {
        private const int Paintings = 7;
        private const int Statues = 5;
        private const int Guests = 12;
        private const int Members = 4;
        private const int Lamps = 3;

        private static readonly ConditionalWeakTable<Member, Badge> s_badges = new ConditionalWeakTable<Member, Badge>();
        private static Member[] s_members;
        private static Guest[] s_guests;
        private static Lamp[] s_lamps;
        private static Func<long> s_question;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Lend()
        {
            Handles();
            WeakHandles();
            Table();
            Closure();
            s_lamps = new Lamp[Lamps];
            for (var i = 0; i < Lamps; i++)
            {
                s_lamps[i] = new Lamp { Number = i };
            }

            Claim.Type("Museum.Lamp", Lamps, 24 * Lamps);
            Claim.Path("static Museum.Loans.s_lamps", "Museum.Lamp[]", "Museum.Lamp");
        }

        private static void Handles()
        {
            for (var i = 0; i < Paintings; i++)
            {
                GCHandle.Alloc(new LentPainting { Number = i }, GCHandleType.Normal);
            }

            for (var i = 0; i < Statues; i++)
            {
                GCHandle.Alloc(new LentStatue { Number = i }, GCHandleType.Pinned);
            }

            Claim.Type("Museum.LentPainting", Paintings, 40 * Paintings);
            Claim.Type("Museum.LentStatue", Statues, 40 * Statues);
            Claim.Path("strong handles", "Museum.LentPainting");
            Claim.Path("pinned handles", "Museum.LentStatue");
        }

        private static void WeakHandles()
        {
            s_guests = new Guest[Guests / 2];
            for (var i = 0; i < Guests; i++)
            {
                var guest = new Guest { Number = i };
                GCHandle.Alloc(guest, i % 4 < 2 ? GCHandleType.Weak : GCHandleType.WeakTrackResurrection);
                if (i % 2 == 0)
                {
                    s_guests[i / 2] = guest;
                }
            }

            Claim.Type("Museum.Guest", Guests / 2, 24 * Guests / 2);
            Claim.Path("static Museum.Loans.s_guests", "Museum.Guest[]", "Museum.Guest");
        }

        private static void Table()
        {
            s_members = new Member[Members];
            for (var i = 0; i < Members; i++)
            {
                s_members[i] = new Member { Number = i };
                s_badges.Add(s_members[i], new Badge { Number = i });
            }

            Claim.Type("Museum.Member", Members, 24 * Members);
            Claim.Type("Museum.Badge", Members, 48 * Members);
            Claim.Retained("Museum.Member", 24 + 48);
            Claim.Path("static Museum.Loans.s_members", "Museum.Member[]", "Museum.Member", "Museum.Badge");
        }

        private static void Closure()
        {
            var secret = new Secret { Number = 42 };
            s_question = () => secret.Number;
            var caught = s_question.Target.GetType().FullName;
            Claim.Type(caught, 1, 24);
            Claim.Retained(caught, 24 + 24);
            Claim.Path("static Museum.Loans.s_question", "System.Func<System.Int64>", caught, "Museum.Secret");
        }
    }

    /// <summary>24 bytes, in a local variable.</summary>
    internal sealed class Ticket
    {
        public long Number;
    }

    /// <summary>32 bytes, in a static field of a thread.</summary>
    internal sealed class Note
    {
        public long Number, Page;
    }

    /// <summary>A thread that holds something for ever.</summary>
    internal static class Keeper
    {
        [ThreadStatic]
        private static Note t_note;

        private static readonly ManualResetEventSlim s_held = new ManualResetEventSlim();

        public static void Start()
        {
            Background.Start("museum-keeper", Work);
            s_held.Wait();
            Claim.Type("Museum.Ticket", 1, 24);
            Claim.Type("Museum.Note", 1, 32);
            Claim.Path("local variables", "Museum.Ticket");
            Claim.Path("thread-static Museum.Keeper.t_note", "Museum.Note");
        }

        private static void Work()
        {
            Remember();
            Hold(new Ticket { Number = 2 });
        }

        /// <summary>In a frame of its own, which holds the note no longer than it runs.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Remember() => t_note = new Note { Number = 1 };

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Hold(Ticket ticket)
        {
            s_held.Set();
            Thread.Sleep(Timeout.Infinite);
            GC.KeepAlive(ticket);
        }
    }

    /// <summary>24 bytes. The first one to be finalized never returns, and the others wait for it.</summary>
    internal sealed class Doomed
    {
        private static readonly ManualResetEventSlim s_blocked = new ManualResetEventSlim();

        public long Number;

        ~Doomed()
        {
            s_blocked.Set();
            Thread.Sleep(Timeout.Infinite);
        }

        public static void Queue(int count)
        {
            if (count == 0)
            {
                return;
            }

            Make(count);
            while (!s_blocked.IsSet)
            {
                GC.Collect();
                s_blocked.Wait(10);
            }

            Claim.Type("Museum.Doomed", count, 24L * count);
        }

        /// <summary>On a thread of its own, whose stack is gone before anyone looks.</summary>
        private static void Make(int count)
        {
            var maker = new Thread(() =>
            {
                for (var i = 0; i < count; i++)
                {
                    GC.KeepAlive(new Doomed { Number = i });
                }
            });
            maker.Start();
            maker.Join();
        }
    }

    /// <summary>Sizes that differ between runtimes, as the runtime itself knows them.</summary>
    internal static class Layout
    {
        /// <summary>A dictionary without its values: itself and its two arrays.</summary>
        public static long Of<TValue>(System.Collections.Generic.Dictionary<long, TValue> table)
            where TValue : class
        {
            var buckets = (Array)Field(table, "_buckets");
            var entries = (Array)Field(table, "_entries");
            // An entry: the value, the key, a hash code and the number of the next.
            return BaseSize(table) + Claim.Array(buckets.Length, 4) + Claim.Array(entries.Length, 24);
        }

        /// <summary>The size of an object that is no array: the second word of its method table.</summary>
        private static long BaseSize(object found) => Marshal.ReadInt32(found.GetType().TypeHandle.Value, 4);

        private static object Field(object found, string name) =>
            found.GetType().GetField(name, BindingFlags.Instance | BindingFlags.NonPublic).GetValue(found);
    }
}
