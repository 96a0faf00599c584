// patient:  native-memory
// kind:     illness
// illness:  each decoded frame is copied to native memory that is never freed, so the process grows while its managed heap stays small
// finding:  native-memory
// culprit:  Video.FrameStore.Keep
// runtimes: 3.1 8 9 10
// Arguments: rate (MB per second) and cap (MB).

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Patients;

namespace Video
{
    [Patient("native-memory")]
    internal static class Decoder
    {
        private static readonly FrameStore s_store = new FrameStore();
        private static readonly byte[] s_frame = new byte[FrameStore.FrameBytes];

        private static void Run(PatientArguments args)
        {
            new Random(7).NextBytes(s_frame);
            Growth.Start("decoder", args, FrameStore.FrameBytes, () => s_store.Keep(s_frame));
            Patient.Ready();
        }
    }

    internal sealed class FrameStore
    {
        public const int FrameBytes = 96 * 1024;

        private IntPtr _last;

        /// <summary>Only the last frame is ever shown, but none is freed.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Keep(byte[] frame)
        {
            _last = Marshal.AllocHGlobal(frame.Length);
            Marshal.Copy(frame, 0, _last, frame.Length);
        }

        public IntPtr Last => _last;
    }
}
