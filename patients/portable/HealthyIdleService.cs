// patient:  healthy-idle-service
// kind:     control
// illness:  none: a service that looks for work once a second and finds none
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10

using System;
using System.Collections.Concurrent;
using System.Threading;
using Patients;

namespace Mail
{
    [Patient("healthy-idle-service")]
    internal static class Postman
    {
        private static readonly Outbox s_outbox = new Outbox();
        private static Timer s_poll;

        private static void Run(PatientArguments args)
        {
            var polled = new ManualResetEventSlim();
            s_poll = new Timer(
                _ =>
                {
                    s_outbox.SendAll();
                    polled.Set();
                },
                null,
                TimeSpan.Zero,
                TimeSpan.FromSeconds(1));
            polled.Wait();
            Patient.Ready();
        }
    }

    internal sealed class Outbox
    {
        private readonly ConcurrentQueue<string> _letters = new ConcurrentQueue<string>();

        public int Sent { get; private set; }

        public void SendAll()
        {
            while (_letters.TryDequeue(out _))
            {
                Sent++;
            }
        }
    }
}
