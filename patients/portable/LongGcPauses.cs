// patient:  long-gc-pauses
// kind:     illness
// illness:  millions of small linked objects are kept and churned while background collection is switched off, so full collections stop the program for long
// finding:  long-gc-pauses
// culprit:  Search.InvertedIndex.Replace
// runtimes: 3.1 8 9 10
// No collection is forced: each replaced posting dies in the oldest generation, which therefore
// fills up, and the latency mode lets the collector clean it only with the program stopped.

using System;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Search
{
    [Patient("long-gc-pauses")]
    internal static class SearchNode
    {
        private static void Run(PatientArguments args)
        {
            GCSettings.LatencyMode = GCLatencyMode.Batch; // "for throughput"
            var index = new InvertedIndex(postings: args.Int("objects", 2_000_000));
            Background.Start("indexer", index.UpdateForEver);

            var collections = GC.CollectionCount(2);
            while (GC.CollectionCount(2) < collections + 1)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }
    }

    internal sealed class InvertedIndex
    {
        private const int UpdatesPerRest = 20_000;

        private readonly Posting[] _postings;
        private readonly Random _random = new Random(11);

        public InvertedIndex(int postings)
        {
            _postings = new Posting[postings];
            for (var i = 0; i < postings; i++)
            {
                Replace(i);
            }
        }

        public void UpdateForEver()
        {
            for (var update = 1; ; update++)
            {
                Replace(_random.Next(_postings.Length));
                Work.Done();
                if (update % UpdatesPerRest == 0)
                {
                    Thread.Sleep(1);
                }
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private void Replace(int slot)
        {
            var related = _postings[_random.Next(_postings.Length)];
            _postings[slot] = new Posting { Document = slot, Positions = new int[4], Related = related };
            if (related != null)
            {
                related.Related = null; // keeps the chains short, so that what is replaced dies
            }
        }

        private sealed class Posting
        {
            public int Document;
            public int[] Positions;
            public Posting Related;
        }
    }
}
