// patient:  healthy-short-locks
// kind:     control
// illness:  none: four threads share a lock that each holds for a few microseconds
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10

using System.Linq;
using System.Threading;
using Patients;

namespace Statistics
{
    [Patient("healthy-short-locks")]
    internal static class Meter
    {
        private static void Run(PatientArguments args)
        {
            var latencies = new Latencies();
            foreach (var number in Enumerable.Range(1, args.Int("threads", 4)))
            {
                Background.Start($"meter-{number}", () => MeasureForEver(latencies, number));
            }

            while (latencies.Count < 10_000)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        private static void MeasureForEver(Latencies latencies, int seed)
        {
            for (var sample = seed; ; sample++)
            {
                latencies.Add(Measure(sample));
                Work.Done();
                if (sample % 100 == 0)
                {
                    Thread.Sleep(15);
                }
            }
        }

        /// <summary>Some ten microseconds of work outside the lock.</summary>
        private static int Measure(int sample)
        {
            var mixed = (uint)sample;
            for (var i = 0; i < 8_000; i++)
            {
                mixed = mixed * 1664525 + 1013904223;
            }

            return (int)(mixed % 64);
        }
    }

    /// <summary>The latest samples and their sum, brought up to date under a lock in a few microseconds.</summary>
    internal sealed class Latencies
    {
        private readonly object _gate = new object();
        private readonly int[] _latest = new int[4000];
        private int _count;
        private int _sum;

        public int Count => Volatile.Read(ref _count);

        public void Add(int milliseconds)
        {
            lock (_gate)
            {
                _latest[_count++ % _latest.Length] = milliseconds;
                var sum = 0;
                foreach (var latency in _latest)
                {
                    sum += latency;
                }

                _sum = sum;
            }
        }
    }
}
