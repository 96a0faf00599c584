// patient:  healthy-allocation
// kind:     control
// illness:  none: much is allocated, but all of it dies young, which costs next to nothing
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10
// Argument: rate (MB per second).

using System.Text;
using System.Threading;
using Patients;

namespace Logs
{
    [Patient("healthy-allocation")]
    internal static class LogShipper
    {
        private const int BatchBytes = 64 * 1024;

        private static int s_batches;
        private static long s_shipped;

        private static void Run(PatientArguments args)
        {
            var batchesPerSecond = args.Int("rate", 200) * 1024.0 * 1024 / BatchBytes;
            Background.StartPaced("log-shipper", batchesPerSecond, long.MaxValue, ShipBatch);
            while (Volatile.Read(ref s_batches) < batchesPerSecond / 2)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        private static void ShipBatch()
        {
            s_batches++;
            for (var allocated = 0; allocated < BatchBytes;)
            {
                var line = $"batch {s_batches}: request served";
                var bytes = Encoding.UTF8.GetBytes(line);
                s_shipped += bytes.Length;
                allocated += 2 * line.Length + bytes.Length + 80;
            }
        }
    }
}
