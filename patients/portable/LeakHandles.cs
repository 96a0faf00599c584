// patient:  leak-handles
// kind:     illness
// illness:  each request registers with the token of the whole service and never gives the registration back
// finding:  handle-leak
// culprit:  Relay.Request.Begin, Relay.Service.s_stopping
// runtimes: 3.1 8 9 10
// The service's token source keeps every callback, and the callback its request. Arguments: rate (MB per second) and cap (MB).

using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Relay
{
    [Patient("leak-handles")]
    internal static class Service
    {
        private static readonly CancellationTokenSource s_stopping = new CancellationTokenSource();

        private static void Run(PatientArguments args)
        {
            Growth.Start("relay-intake", args, Request.ApproximateBytes, () => new Request().Begin(s_stopping.Token));
            Patient.Ready();
        }
    }

    internal sealed class Request
    {
        public const int ApproximateBytes = 16 * 1024;

        private readonly byte[] _buffer = new byte[ApproximateBytes];
        private bool _isStopped;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Begin(CancellationToken stopping) => stopping.Register(Stop); // the registration is dropped

        private void Stop() => _isStopped = _buffer.Length > 0 || _isStopped;
    }
}
