// patient:  known-heap
// kind:     control
// illness:  none: a museum whose heap is known to the byte and does not change
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10
// What it made is printed before `ready`, one claim a line, with sizes as they are on x64 and types as C# writes them:
//   type NAME COUNT BYTES           so many live objects with so many bytes
//   size NAME BYTES COUNT           so many live objects of a type that others use too are of exactly this size
//   retained NAME BYTES             so much would go with each object of the type
//   path NAME ROOT > TYPE > NAME    the way from a root; ROOT is `static FIELD`, `thread-static FIELD` or a kind of root
//   chain NAME COUNT BYTES          a linked list; the k-th link retains BYTES for itself and each link after it
// Everything claimed was there before a full collection, and after `ready` nothing is allocated. Arguments:
//   links=1000      links of the list (a million: a path with a million steps)
//   cells=N         so many small linked objects of 40 bytes with two references each, in chains of a thousand
//                   (for measurements: cells=1000000, cells=3000000, cells=10000000)
//   elements=N      a List with so many references to one object (50000000: 400 MB)
//   ballast=N       an array of N MB, all of it used
//   types=N         so many types, with one object each (100000: some seconds)
//   name=N          one object of a type whose name has at least N thousand characters
//   ready=N         so many objects that wait for a finalizer which is blocked for ever (then it is not healthy)
//   churn=N         a thread that allocates, drops and moves N thousand of other objects a second; the claims still hold

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Museum
{
    [Patient("known-heap")]
    internal static class Director
    {
        private static void Run(PatientArguments args)
        {
            Collection.Furnish();
            Collection.Chain(args.Int("links", 1000));
            Loans.Lend();
            Keeper.Start();
            Storage.Fill(args);
            Annex.Fill(args);

            // What was needed to make all this is gone, and what stays is old.
            for (var round = 0; round < 2; round++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }

            Doomed.Queue(args.Int("ready", 0));
            Visitors.Start(args.Int("churn", 0));
            GC.Collect();
            Patient.Ready();
        }
    }

    /// <summary>What is printed of a heap.</summary>
    internal static class Claim
    {
        public static void Type(string name, long count, long bytes) => Console.Out.WriteLine($"type {name} {count} {bytes}");

        public static void Size(string name, long bytes, long count) => Console.Out.WriteLine($"size {name} {bytes} {count}");

        public static void Retained(string name, long bytes) => Console.Out.WriteLine($"retained {name} {bytes}");

        public static void Path(string root, params string[] types) =>
            Console.Out.WriteLine($"path {types[types.Length - 1]} {root} > {string.Join(" > ", types)}");

        public static void Chain(string name, long count, long each) => Console.Out.WriteLine($"chain {name} {count} {each}");

        /// <summary>Bytes of an array: 24 and its elements, rounded up to a multiple of 8.</summary>
        public static long Array(long length, long element) => Rounded(24 + length * element);

        /// <summary>Bytes of a string: 22 and two for each character, rounded up to a multiple of 8.</summary>
        public static long Text(long length) => Rounded(22 + length * 2);

        private static long Rounded(long bytes) => (bytes + 7) / 8 * 8;
    }

    // The sizes: 16 bytes for any object, its fields, rounded up to a multiple of 8, and no less than 24.

    /// <summary>24 bytes.</summary>
    internal sealed class Cabinet
    {
        public Drawer[] Drawers;
    }

    /// <summary>40 bytes.</summary>
    internal sealed class Drawer
    {
        public Specimen[] Specimens;
        public Label Label;
        public int Number;
    }

    /// <summary>40 bytes.</summary>
    internal sealed class Specimen
    {
        public long Number;
        public long Weight;
        public int Year;
    }

    /// <summary>24 bytes. Two drawers share each.</summary>
    internal sealed class Label
    {
        public byte[] Picture;
    }

    /// <summary>16 bytes within an array.</summary>
    internal struct Slot
    {
        public Token Token;
        public int Key;
    }

    /// <summary>24 bytes. Each hangs on two fields.</summary>
    internal sealed class Token
    {
        public long Value;
    }

    /// <summary>32 bytes.</summary>
    internal sealed class Link
    {
        public Link Next;
        public int Number;
    }

    /// <summary>24 bytes.</summary>
    internal sealed class Exhibit
    {
        public long Number;
    }

    internal static class Collection
    {
        private const int Drawers = 100;
        private const int SpecimensInDrawer = 10;
        private const int PictureBytes = 1003;
        private const int Tokens = 200;
        private const int Exhibits = 500;

        private static Cabinet s_cabinet;
        private static Slot[] s_slots;
        private static Token[] s_tokens;
        private static string[] s_texts;
        private static Dictionary<long, Exhibit> s_exhibits;
        private static Link s_firstLink;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Furnish()
        {
            Cupboard();
            TokensTwice();
            Texts();
            Table();
        }

        private static void Cupboard()
        {
            s_cabinet = new Cabinet { Drawers = new Drawer[Drawers] };
            Label label = null;
            for (var i = 0; i < Drawers; i++)
            {
                label = i % 2 == 0 ? new Label { Picture = new byte[PictureBytes] } : label;
                var drawer = new Drawer { Specimens = new Specimen[SpecimensInDrawer], Label = label, Number = i };
                for (var k = 0; k < SpecimensInDrawer; k++)
                {
                    drawer.Specimens[k] = new Specimen { Number = k, Weight = i, Year = 1900 + i };
                }

                s_cabinet.Drawers[i] = drawer;
            }

            const int Labels = Drawers / 2;
            var ofDrawer = 40 + Claim.Array(SpecimensInDrawer, 8) + 40 * SpecimensInDrawer;
            var ofLabel = 24 + Claim.Array(PictureBytes, 1);
            var ofArray = Claim.Array(Drawers, 8) + Drawers * ofDrawer + Labels * ofLabel;
            Claim.Type("Museum.Cabinet", 1, 24);
            Claim.Type("Museum.Drawer[]", 1, Claim.Array(Drawers, 8));
            Claim.Type("Museum.Drawer", Drawers, 40 * Drawers);
            Claim.Type("Museum.Specimen[]", Drawers, Drawers * Claim.Array(SpecimensInDrawer, 8));
            Claim.Type("Museum.Specimen", Drawers * SpecimensInDrawer, 40 * Drawers * SpecimensInDrawer);
            Claim.Type("Museum.Label", Labels, 24 * Labels);
            Claim.Size("System.Byte[]", Claim.Array(PictureBytes, 1), Labels);
            Claim.Retained("Museum.Cabinet", 24 + ofArray);
            Claim.Retained("Museum.Drawer[]", ofArray);
            // Not the label: the other drawer would keep it.
            Claim.Retained("Museum.Drawer", ofDrawer);
            Claim.Retained("Museum.Label", ofLabel);
            Claim.Path(
                "static Museum.Collection.s_cabinet",
                "Museum.Cabinet",
                "Museum.Drawer[]",
                "Museum.Drawer",
                "Museum.Specimen[]",
                "Museum.Specimen");
            Claim.Path("static Museum.Collection.s_cabinet", "Museum.Cabinet", "Museum.Drawer[]", "Museum.Drawer", "Museum.Label");
        }

        private static void TokensTwice()
        {
            s_slots = new Slot[Tokens];
            s_tokens = new Token[Tokens];
            for (var i = 0; i < Tokens; i++)
            {
                s_tokens[i] = new Token { Value = i };
                s_slots[i] = new Slot { Token = s_tokens[i], Key = i };
            }

            Claim.Type("Museum.Slot[]", 1, Claim.Array(Tokens, 16));
            Claim.Type("Museum.Token[]", 1, Claim.Array(Tokens, 8));
            Claim.Type("Museum.Token", Tokens, 24 * Tokens);
            // Neither array keeps a token alone.
            Claim.Retained("Museum.Slot[]", Claim.Array(Tokens, 16));
            Claim.Retained("Museum.Token[]", Claim.Array(Tokens, 8));
            Claim.Retained("Museum.Token", 24);
        }

        /// <summary>Strings of lengths that no other string has; the longer ones lie among the large objects.</summary>
        private static void Texts()
        {
            const int Short = 50, Long = 3, Others = 20_000;
            s_texts = new string[Short + Long + Others];
            for (var i = 0; i < Short + Long; i++)
            {
                s_texts[i] = new string('x', i < Short ? 10_007 : 100_003);
            }

            Claim.Size("System.String", Claim.Text(10_007), Short);
            Claim.Size("System.String", Claim.Text(100_003), Long);
            Claim.Size("System.String[]", Claim.Array(s_texts.Length, 8), 1);
        }

        private static void Table()
        {
            s_exhibits = new Dictionary<long, Exhibit>(Exhibits);
            for (var i = 0; i < Exhibits; i++)
            {
                s_exhibits.Add(i, new Exhibit { Number = i });
            }

            const string Table = "System.Collections.Generic.Dictionary<System.Int64, Museum.Exhibit>";
            Claim.Type("Museum.Exhibit", Exhibits, 24 * Exhibits);
            Claim.Retained(Table, Layout.Of(s_exhibits) + 24 * Exhibits);
            Claim.Path(
                "static Museum.Collection.s_exhibits",
                Table,
                "System.Collections.Generic.Dictionary+Entry<System.Int64, Museum.Exhibit>[]",
                "Museum.Exhibit");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Chain(int links)
        {
            for (var i = 0; i < links; i++)
            {
                s_firstLink = new Link { Next = s_firstLink, Number = i };
            }

            Claim.Type("Museum.Link", links, 32L * links);
            Claim.Chain("Museum.Link", links, 32);
        }
    }
}
