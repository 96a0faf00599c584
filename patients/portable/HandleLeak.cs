// patient:  handle-leak
// kind:     illness
// illness:  each job hands a context to native code through a GCHandle that nobody ever frees
// finding:  handle-leak
// culprit:  Scanning.NativeScanner.Submit, Scanning.JobContext
// runtimes: 3.1 8 9 10
// The handle holds the context, and the context its page. Arguments: rate (MB per second) and cap (MB).

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Patients;

namespace Scanning
{
    [Patient("handle-leak")]
    internal static class Scanner
    {
        private static void Run(PatientArguments args)
        {
            Growth.Start("intake", args, JobContext.ApproximateBytes, () => NativeScanner.Submit(new JobContext()));
            Patient.Ready();
        }
    }

    internal sealed class JobContext
    {
        public const int ApproximateBytes = 8 * 1024;

        private readonly byte[] _page = new byte[ApproximateBytes];

        public void Finish() => _page[0] = 1;
    }

    internal static class NativeScanner
    {
        private static IntPtr s_last;

        /// <summary>The native side would give the handle back in its callback, which is to free it.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Submit(JobContext job)
        {
            s_last = GCHandle.ToIntPtr(GCHandle.Alloc(job));
            OnFinished(s_last);
        }

        private static void OnFinished(IntPtr handle) => ((JobContext)GCHandle.FromIntPtr(handle).Target).Finish();
    }
}
