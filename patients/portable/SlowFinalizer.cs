// patient:  slow-finalizer
// kind:     illness
// illness:  batches that are never disposed flush their page in the finalizer, 20 ms each, so ever more of them wait for it
// finding:  finalizer-behind
// culprit:  Metering.Batch.Finalize
// runtimes: 3.1 8 9 10
// Arguments: rate (MB per second) and cap (MB).

using System;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Metering
{
    [Patient("slow-finalizer")]
    internal static class Collector
    {
        private static void Run(PatientArguments args)
        {
            Growth.Start("meter-intake", args, Batch.ApproximateBytes, Batch.Record);
            while (Batch.Flushed == 0)
            {
                GC.Collect(); // staging: the first batches are found dead now instead of some seconds later
                Thread.Sleep(20);
            }

            Patient.Ready();
        }
    }

    internal sealed class Batch
    {
        public const int ApproximateBytes = 8 * 1024;

        private static int s_flushed;

        private readonly byte[] _page = new byte[ApproximateBytes];

        [MethodImpl(MethodImplOptions.NoInlining)]
        ~Batch()
        {
            Thread.Sleep(20); // the write to a slow disk
            _page[0] = 0;
            Interlocked.Increment(ref s_flushed);
        }

        public static int Flushed => Volatile.Read(ref s_flushed);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Record() => new Batch()._page[0] = 1;
    }
}
