// patient:  leak-thread-static
// kind:     illness
// illness:  a worker thread that never ends keeps every measurement in a thread static list
// finding:  thread-static-leak
// culprit:  Lab.Recorder.Add, Lab.Recorder.t_samples
// runtimes: 3.1 8 9 10
// Arguments: rate (MB per second) and cap (MB).

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Lab
{
    [Patient("leak-thread-static")]
    internal static class Bench
    {
        private static void Run(PatientArguments args)
        {
            var rate = args.Int("rate", 4);
            var cap = args.Int("cap", 1500);
            const int perMegabyte = 1024 * 1024 / Sample.ApproximateBytes;
            var warm = new ManualResetEventSlim();
            var done = 0L;
            Background.StartPaced("sampler", (double)rate * perMegabyte, (long)cap * perMegabyte, () =>
            {
                Recorder.Add();
                if (++done == perMegabyte / 4)
                {
                    warm.Set();
                }
            });
            warm.Wait();
            Patient.Ready();
        }
    }

    internal sealed class Sample
    {
        public const int ApproximateBytes = 4 * 1024;

        private readonly byte[] _curve = new byte[ApproximateBytes];

        public int Length => _curve.Length;
    }

    internal static class Recorder
    {
        [ThreadStatic]
        private static List<Sample> t_samples;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Add() => (t_samples ??= new List<Sample>()).Add(new Sample());
    }
}
