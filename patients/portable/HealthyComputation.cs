// patient:  healthy-computation
// kind:     control
// illness:  none: one worker computes all the time, as it is meant to, and its work is spread over several methods
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10
// Parameters: threads (1) that compute; depth (0) of calls below which they do; methods (0) that are compiled at the
// start and never called again. Prints the
// port where each byte is answered with the number of rounds so far, before `ready`.

using System;
using System.Net;
using System.Net.Sockets;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Science
{
    [Patient("healthy-computation")]
    internal static class Laboratory
    {
        private static long s_rounds;
        private static double s_result;

        private static void Run(PatientArguments args)
        {
            Library.Compile(args.Int("methods", 0));
            for (var thread = 0; thread < args.Int("threads", 1); thread++)
            {
                Background.Start("computation", () => Descend(args.Int("depth", 0)));
            }

            while (Interlocked.Read(ref s_rounds) < 30)
            {
                Thread.Sleep(10);
            }

            var listener = new TcpListener(IPAddress.Loopback, 0);
            listener.Start();
            Patient.Port(((IPEndPoint)listener.LocalEndpoint).Port);
            Background.Start("progress", () => TellProgress(listener));
            Patient.Ready();
        }

        private static void TellProgress(TcpListener listener)
        {
            while (true)
            {
                using (var asking = listener.AcceptTcpClient())
                {
                    asking.NoDelay = true;
                    var stream = asking.GetStream();
                    while (stream.ReadByte() >= 0)
                    {
                        stream.Write(BitConverter.GetBytes(Interlocked.Read(ref s_rounds)), 0, 8);
                    }
                }
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Descend(int depth)
        {
            if (depth == 0)
            {
                ComputeForEver();
            }

            Descend(depth - 1);
            s_result = depth;
        }

        private static void ComputeForEver()
        {
            var sieve = new bool[50_000];
            var left = new double[56 * 56];
            var right = new double[56 * 56];
            var product = new double[56 * 56];
            var wave = new double[6_000];
            while (true)
            {
                Primes.Sieve(sieve);
                Array.Fill(left, Primes.Count(sieve));
                Array.Fill(right, 0.5);
                Matrix.Multiply(left, right, product, 56);
                Wave.Fill(wave, product[0]);
                s_result = Wave.Energy(wave);
                Interlocked.Increment(ref s_rounds);
                Work.Done();
            }
        }
    }

    /// <summary>Methods of a common size that are compiled, and then never called again.</summary>
    internal static class Library
    {
        public static void Compile(int count)
        {
            if (count == 0)
            {
                return;
            }

            var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Shelf"), AssemblyBuilderAccess.Run);
            var module = assembly.DefineDynamicModule("Shelf");
            for (var first = 0; first < count; first += 1000)
            {
                var type = module.DefineType($"Shelf.Volume{first / 1000}", TypeAttributes.Public);
                var here = Math.Min(1000, count - first);
                for (var number = 0; number < here; number++)
                {
                    var method = type.DefineMethod(
                        $"Page{number}", MethodAttributes.Public | MethodAttributes.Static, typeof(int), new[] { typeof(int) });
                    var code = method.GetILGenerator();
                    code.Emit(OpCodes.Ldarg_0);
                    for (var step = 0; step < 60; step++)
                    {
                        code.Emit(OpCodes.Ldc_I4, 31 + step);
                        code.Emit(OpCodes.Mul);
                        code.Emit(OpCodes.Ldc_I4, step);
                        code.Emit(OpCodes.Xor);
                    }

                    code.Emit(OpCodes.Ret);
                }

                var made = type.CreateTypeInfo().AsType();
                foreach (var method in made.GetMethods(BindingFlags.Public | BindingFlags.Static))
                {
                    RuntimeHelpers.PrepareMethod(method.MethodHandle);
                }
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
