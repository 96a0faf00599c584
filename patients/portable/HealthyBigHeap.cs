// patient:  healthy-big-heap
// kind:     control
// illness:  a large and constant heap, as a search index has it
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10
// Arguments: count (words of the index).

using System.Linq;
using System.Threading;
using Patients;

namespace Searching
{
    [Patient("healthy-big-heap")]
    internal static class Engine
    {
        private static Word[] s_words;
        private static int s_next;

        private static void Run(PatientArguments args)
        {
            s_words = Enumerable.Range(0, args.Int("count", 60_000)).Select(number => new Word(number)).ToArray();
            Background.StartPaced("queries", 20, long.MaxValue, Ask);
            Patient.Ready();
        }

        private static void Ask() => Interlocked.Increment(ref s_words[s_next++ % s_words.Length].Hits);
    }

    internal sealed class Word
    {
        public int Hits;

        private readonly string _text;
        private readonly int[] _pages = new int[48];

        public Word(int number) => _text = $"word {number}";

        public int Length => _text.Length + _pages.Length;
    }
}
