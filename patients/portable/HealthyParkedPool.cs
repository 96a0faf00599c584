// patient:  healthy-parked-pool
// kind:     control
// illness:  none: fifty pool threads have served a burst and are parked until the next
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10
// A parked pool thread goes away after about twenty seconds, hence a small burst every five.

using System;
using System.Threading;
using Patients;

namespace Thumbnails
{
    [Patient("healthy-parked-pool")]
    internal static class Workshop
    {
        private static readonly TimeSpan s_betweenBursts = TimeSpan.FromSeconds(5);

        private static void Run(PatientArguments args)
        {
            var threads = args.Int("threads", 50);
            ThreadPool.SetMinThreads(threads, 4);
            ServeBurst(threads);
            Background.Start("burst-source", () =>
            {
                while (true)
                {
                    Thread.Sleep(s_betweenBursts);
                    ServeBurst(threads);
                }
            });
            Patient.Ready();
        }

        private static void ServeBurst(int jobs)
        {
            var done = new CountdownEvent(jobs);
            for (var i = 0; i < jobs; i++)
            {
                ThreadPool.QueueUserWorkItem(_ =>
                {
                    Thread.Sleep(20); // waits for the disk
                    done.Signal();
                });
            }

            done.Wait();
        }
    }
}
