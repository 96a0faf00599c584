// patient:  healthy-computation
// kind:     control
// illness:  none: one worker computes all the time, as it is meant to, and its work is spread over several methods
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9

using System;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Science
{
    [Patient("healthy-computation")]
    internal static class Laboratory
    {
        private static int s_rounds;
        private static double s_result;

        private static void Run(PatientArguments args)
        {
            Background.Start("computation", ComputeForEver);
            while (Volatile.Read(ref s_rounds) < 3)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        private static void ComputeForEver()
        {
            var sieve = new bool[500_000];
            var left = new double[120 * 120];
            var right = new double[120 * 120];
            var product = new double[120 * 120];
            var wave = new double[60_000];
            while (true)
            {
                Primes.Sieve(sieve);
                Array.Fill(left, Primes.Count(sieve));
                Array.Fill(right, 0.5);
                Matrix.Multiply(left, right, product, 120);
                Wave.Fill(wave, product[0]);
                s_result = Wave.Energy(wave);
                s_rounds++;
            }
        }
    }

    internal static class Primes
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Sieve(bool[] composite)
        {
            Array.Clear(composite, 0, composite.Length);
            for (var i = 2; (long)i * i < composite.Length; i++)
            {
                if (!composite[i])
                {
                    for (var multiple = i * i; multiple < composite.Length; multiple += i)
                    {
                        composite[multiple] = true;
                    }
                }
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Count(bool[] composite)
        {
            var count = 0;
            for (var i = 2; i < composite.Length; i++)
            {
                count += composite[i] ? 0 : 1;
            }

            return count;
        }
    }

    internal static class Matrix
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Multiply(double[] left, double[] right, double[] product, int size)
        {
            for (var row = 0; row < size; row++)
            {
                for (var column = 0; column < size; column++)
                {
                    var sum = 0.0;
                    for (var k = 0; k < size; k++)
                    {
                        sum += left[row * size + k] * right[k * size + column];
                    }

                    product[row * size + column] = sum;
                }
            }
        }
    }

    internal static class Wave
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Fill(double[] wave, double phase)
        {
            for (var i = 0; i < wave.Length; i++)
            {
                wave[i] = Math.Sin(phase + i * 0.001);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static double Energy(double[] wave)
        {
            var energy = 0.0;
            foreach (var height in wave)
            {
                energy += Math.Sqrt(1 + height * height);
            }

            return energy;
        }
    }
}
