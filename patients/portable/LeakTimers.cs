// patient:  leak-timers
// kind:     illness
// illness:  finished sessions stay alive because their renewal timers are never disposed
// finding:  timer-leak
// culprit:  Sessions.Session.Start, Sessions.Session, Sessions.Session.Renew
// runtimes: 3.1 8 9 10
// The runtime's timer queue holds the callback, the callback its session, and the session its
// timer. Arguments: rate (MB per second) and cap (MB).

using System;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Sessions
{
    [Patient("leak-timers")]
    internal static class Gateway
    {
        private static void Run(PatientArguments args)
        {
            Growth.Start("session-intake", args, Session.ApproximateBytes, () => new Session().Start());
            Patient.Ready();
        }
    }

    internal sealed class Session
    {
        public const int ApproximateBytes = 16 * 1024;

        private static readonly TimeSpan s_renewal = TimeSpan.FromSeconds(30);

        private readonly byte[] _receiveBuffer = new byte[ApproximateBytes];
        private Timer _renewal;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Start() => _renewal = new Timer(Renew, null, s_renewal, s_renewal);

        private void Renew(object state)
        {
            _receiveBuffer[0]++;
            _renewal.Change(s_renewal, s_renewal);
        }
    }
}
