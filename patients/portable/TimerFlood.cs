// patient:  timer-flood
// kind:     illness
// illness:  each of ten thousand devices has a timer of its own that fires every second, where one would do
// finding:  timer-leak
// culprit:  Presence.Device.Watch, Presence.Device, Presence.Device.Beat
// runtimes: 3.1 8 9 10
// The timers do not grow in number; there are simply far too many.

using System;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Presence
{
    [Patient("timer-flood")]
    internal static class Registry
    {
        private static Device[] s_devices;

        private static void Run(PatientArguments args)
        {
            s_devices = Enumerable.Range(1, args.Int("count", 10_000)).Select(_ => new Device()).ToArray();
            foreach (var device in s_devices)
            {
                device.Watch();
            }

            while (Device.Beats < s_devices.Length / 2)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }
    }

    internal sealed class Device
    {
        private static readonly TimeSpan s_period = TimeSpan.FromSeconds(1);
        private static int s_beats;

        private Timer _heartbeat;

        public static int Beats => Volatile.Read(ref s_beats);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Watch() => _heartbeat = new Timer(Beat, null, s_period, s_period);

        private void Beat(object state)
        {
            Interlocked.Increment(ref s_beats);
            Work.Done();
            GC.KeepAlive(_heartbeat);
        }
    }
}
