// patient:  zombie-threads
// kind:     illness
// illness:  each batch starts a thread that waits for ever for an acknowledgement, so the threads grow in number
// finding:  thread-leak
// culprit:  Telemetry.Exporter.Upload
// runtimes: 3.1 8 9 10
// With `ends=MS` an acknowledgement is waited for no longer than that: threads come and go.

using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Telemetry
{
    [Patient("zombie-threads")]
    internal static class Agent
    {
        private const int ThreadsAtStart = 10;

        private static void Run(PatientArguments args)
        {
            var perSecond = args.Int("rate", 5);
            var cap = args.Int("cap", 400);
            var exporter = new Exporter(args.Int("ends", Timeout.Infinite));
            for (var i = 0; i < ThreadsAtStart; i++)
            {
                exporter.Flush();
            }

            Background.StartPaced("flush-schedule", perSecond, cap - ThreadsAtStart, exporter.Flush);
            while (exporter.Uploads < ThreadsAtStart)
            {
                Thread.Sleep(1);
            }

            Patient.Ready();
        }
    }

    internal sealed class Exporter
    {
        private readonly int _patience;
        private int _batches;
        private int _uploads;

        public Exporter(int patience)
        {
            _patience = patience;
        }

        public int Uploads => Volatile.Read(ref _uploads);

        public void Flush()
        {
            _batches++;
            Background.Start($"export-{_batches}", Upload);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private void Upload()
        {
            using (var acknowledged = new ManualResetEvent(false))
            {
                Interlocked.Increment(ref _uploads);
                acknowledged.WaitOne(_patience); // usually no time limit, and the collector does not acknowledge
            }
        }
    }
}
