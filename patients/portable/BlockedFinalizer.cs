// patient:  blocked-finalizer
// kind:     illness
// illness:  a finalizer waits for ever for a lock, so no finalizer runs any more and dead objects pile up
// finding:  blocked-finalizer
// culprit:  Media.Surface.Finalize
// runtimes: 3.1 8 9 10
// The display thread holds the device while it waits for a refresh that does not come.
// Arguments: rate (MB per second) and cap (MB).

using System;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Media
{
    [Patient("blocked-finalizer")]
    internal static class Player
    {
        private static void Run(PatientArguments args)
        {
            Background.WaitUntilBlocked(Background.Start("display", Device.Present));
            Growth.Start("decoder", args, Surface.ApproximateBytes, Surface.Decode);
            while (!Surface.FinalizerStarted)
            {
                GC.Collect(); // staging: the first surfaces are found dead now instead of some seconds later
                Thread.Sleep(20);
            }

            Patient.Ready();
        }
    }

    internal static class Device
    {
        private static readonly ManualResetEvent s_refresh = new ManualResetEvent(false);

        public static object Gate { get; } = new object();

        public static void Present()
        {
            lock (Gate)
            {
                s_refresh.WaitOne();
            }
        }
    }

    internal sealed class Surface
    {
        public const int ApproximateBytes = 32 * 1024;

        private static bool s_finalizerStarted;

        private readonly byte[] _pixels = new byte[ApproximateBytes];

        [MethodImpl(MethodImplOptions.NoInlining)]
        ~Surface()
        {
            Volatile.Write(ref s_finalizerStarted, true);
            lock (Device.Gate)
            {
                _pixels[0] = 0; // here the device would free its side of the surface
            }
        }

        public static bool FinalizerStarted => Volatile.Read(ref s_finalizerStarted);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Decode() => new Surface()._pixels[0] = 1;
    }
}
