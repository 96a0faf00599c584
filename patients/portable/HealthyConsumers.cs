// patient:  healthy-consumers
// kind:     control
// illness:  none: sixteen threads of its own wait for work on one queue, which comes now and then
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10

using System.Collections.Concurrent;
using System.Threading;
using Patients;

namespace Press
{
    [Patient("healthy-consumers")]
    internal static class House
    {
        private static void Run(PatientArguments args)
        {
            var queue = new BlockingCollection<int>();
            var ready = new CountdownEvent(args.Int("threads", 16));
            for (var i = 1; i <= ready.InitialCount; i++)
            {
                Background.Start($"printer-{i}", () => Print(queue, ready));
            }

            ready.Wait();
            Background.StartPaced("orders", 1, long.MaxValue, () => queue.Add(1));
            Patient.Ready();
        }

        private static void Print(BlockingCollection<int> queue, CountdownEvent ready)
        {
            ready.Signal();
            foreach (var pages in queue.GetConsumingEnumerable())
            {
                Thread.Sleep(pages);
            }
        }
    }
}
