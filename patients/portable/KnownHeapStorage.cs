// Large and odd parts of the heap of the patient known-heap, each only when asked for, and the part that never rests.

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.Serialization;
using System.Threading;
using Patients;

namespace Museum
{
    /// <summary>40 bytes.</summary>
    internal sealed class Cell
    {
        public Cell Next;
        public Cell First;
        public long Number;
    }

    /// <summary>24 bytes.</summary>
    internal sealed class Element
    {
        public long Number;
    }

    /// <summary>Many objects, many references.</summary>
    internal static class Storage
    {
        private const int CellsInChain = 1000;

        private static Cell[] s_chains;
        private static List<Element> s_elements;
        private static byte[] s_ballast;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Fill(PatientArguments args)
        {
            Cells(args.Int("cells", 0));
            Elements(args.Int("elements", 0));
            Ballast(args.Int("ballast", 0));
        }

        private static void Ballast(int megabytes)
        {
            if (megabytes == 0)
            {
                return;
            }

            s_ballast = new byte[megabytes << 20];
            Array.Fill(s_ballast, (byte)1);
            Claim.Size("System.Byte[]", Claim.Array(s_ballast.Length, 1), 1);
        }

        private static void Cells(int count)
        {
            if (count == 0)
            {
                return;
            }

            s_chains = new Cell[(count + CellsInChain - 1) / CellsInChain];
            for (var i = 0; i < count; i++)
            {
                // The newest stands at the head of its chain and refers to the next and to the first that was made.
                var head = s_chains[i / CellsInChain];
                var cell = new Cell { Next = head, Number = i };
                cell.First = head == null ? cell : head.First;
                s_chains[i / CellsInChain] = cell;
            }

            Claim.Type("Museum.Cell[]", 1, Claim.Array(s_chains.Length, 8));
            Claim.Type("Museum.Cell", count, 40L * count);
            Claim.Retained("Museum.Cell[]", Claim.Array(s_chains.Length, 8) + 40L * count);
        }

        private static void Elements(int count)
        {
            if (count == 0)
            {
                return;
            }

            var element = new Element();
            s_elements = new List<Element>(count);
            for (var i = 0; i < count; i++)
            {
                s_elements.Add(element);
            }

            const string List = "System.Collections.Generic.List<Museum.Element>";
            Claim.Type("Museum.Element", 1, 24);
            Claim.Type("Museum.Element[]", 1, Claim.Array(count, 8));
            Claim.Type(List, 1, 32);
            Claim.Retained(List, 32 + Claim.Array(count, 8) + 24);
            Claim.Path("static Museum.Storage.s_elements", List, "Museum.Element[]", "Museum.Element");
        }
    }

    /// <summary>24 bytes, of whatever arguments.</summary>
    internal sealed class Pair<TLeft, TRight>
    {
        public long Number;
    }

    /// <summary>Many types, and one with a very long name.</summary>
    internal static class Annex
    {
        private static readonly Type[] s_words =
        {
            typeof(string), typeof(object), typeof(Version), typeof(Uri), typeof(Exception), typeof(Random), typeof(Type),
            typeof(Array), typeof(Delegate), typeof(Thread), typeof(Timer), typeof(Lazy<object>), typeof(List<object>),
            typeof(Action), typeof(Attribute), typeof(Enum), typeof(object[]), typeof(string[]), typeof(Type[]), typeof(Uri[]),
        };

        private static object[] s_kinds;
        private static object s_longName;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Fill(PatientArguments args)
        {
            Kinds(args.Int("types", 0));
            LongName(args.Int("name", 0));
        }

        /// <summary>Pairs of pairs of words: 160,000 are possible.</summary>
        private static void Kinds(int count)
        {
            if (count == 0)
            {
                return;
            }

            var pairs = new List<Type>();
            foreach (var left in s_words)
            {
                foreach (var right in s_words)
                {
                    pairs.Add(typeof(Pair<,>).MakeGenericType(left, right));
                }
            }

            count = Math.Min(count, pairs.Count * pairs.Count);
            s_kinds = new object[count];
            for (var i = 0; i < count; i++)
            {
                var kind = typeof(Pair<,>).MakeGenericType(pairs[i / pairs.Count], pairs[i % pairs.Count]);
                s_kinds[i] = FormatterServices.GetUninitializedObject(kind);
            }

            Console.Out.WriteLine($"kinds {count}");
        }

        /// <summary>A pair of a type with itself, again and again: its name doubles each time.</summary>
        private static void LongName(int thousands)
        {
            if (thousands == 0)
            {
                return;
            }

            var name = typeof(Element);
            for (long characters = "Museum.Element".Length; characters < thousands * 1000L; characters = 2 * characters + "Museum.Pair".Length)
            {
                name = typeof(Pair<,>).MakeGenericType(name, name);
            }

            s_longName = FormatterServices.GetUninitializedObject(name);
        }
    }

    /// <summary>32 bytes.</summary>
    internal sealed class Visitor
    {
        public Visitor Companion;
        public long Number;
    }

    /// <summary>The part of the heap that never rests: always so many visitors, each with at most one companion,
    /// who may have left: between one and two times as many objects.</summary>
    internal static class Visitors
    {
        private const int Inside = 10_000;

        private static Visitor[] s_inside;

        public static void Start(int thousandsPerSecond)
        {
            if (thousandsPerSecond == 0)
            {
                return;
            }

            s_inside = new Visitor[Inside];
            for (var i = 0; i < Inside; i++)
            {
                s_inside[i] = new Visitor { Number = i };
            }

            Console.Out.WriteLine($"visitors {Inside}");
            uint state = 1;
            Background.StartPaced("museum-visitors", thousandsPerSecond * 1000.0, long.MaxValue, () =>
            {
                // The steps of a linear congruential generator: the same on every run.
                state = state * 1_664_525 + 1_013_904_223;
                Move((int)(state >> 8) % Inside, (int)(state >> 16) % Inside);
            });
        }

        /// <summary>One leaves and another comes in, one changes places, and the companions of those who left are let go.</summary>
        private static void Move(int left, int right)
        {
            var moved = s_inside[left];
            moved.Companion = null;
            s_inside[left] = s_inside[right];
            s_inside[right] = moved;
            var arrived = new Visitor { Number = s_inside[left].Number + 1 };
            s_inside[left].Companion = null;
            s_inside[left] = arrived;
            arrived.Companion = moved;
        }
    }
}
