// patient:  forced-collections
// kind:     illness
// illness:  the program's own code forces a full collection five times a second
// finding:  induced-gc
// culprit:  Reports.MemoryJanitor.Trim
// runtimes: 3.1 8 9 10

using System;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Reports
{
    [Patient("forced-collections")]
    internal static class ReportServer
    {
        private static string[] s_titles;

        private static void Run(PatientArguments args)
        {
            s_titles = Enumerable.Range(1, 500_000).Select(number => $"report {number}").ToArray();
            Background.StartPaced("memory-janitor", args.Int("rate", 5), long.MaxValue, MemoryJanitor.Trim);
            while (MemoryJanitor.Trims < 2)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }
    }

    internal static class MemoryJanitor
    {
        private static int s_trims;

        public static int Trims => Volatile.Read(ref s_trims);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Trim()
        {
            GC.Collect(); // "keeps the memory low"
            s_trims++;
        }
    }
}
