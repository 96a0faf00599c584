// patient:  healthy-plugin-host
// kind:     control
// illness:  none: a host that runs small plug-ins, unloads each, and survives the few that fail
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10

using System;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Plugins
{
    [Patient("healthy-plugin-host")]
    internal static class Host
    {
        /// <summary>What the host knows of each plug-in, for as long as the plug-in lives.</summary>
        private static readonly ConditionalWeakTable<Type, Record> s_records = new ConditionalWeakTable<Type, Record>();

        private static readonly AutoResetEvent s_done = new AutoResetEvent(false);
        private static Type s_latest;
        private static int s_failures;
        private static int s_work;

        private static void Run(PatientArguments args)
        {
            var pause = args.Int("pause", 100);
            s_work = args.Int("work", 0);
            var firstRound = new ManualResetEvent(false);
            Background.Start("plugin-host", () =>
            {
                for (var number = 0; ; number++)
                {
                    RunOne(number);
                    if (number == 5)
                    {
                        firstRound.Set();
                    }

                    Thread.Sleep(pause);
                }
            });
            firstRound.WaitOne();
            Patient.Ready();
        }

        private static void RunOne(int number)
        {
            var plugin = Load(number);
            s_records.Add(plugin, new Record { Number = number });
            s_latest = plugin;
            Background.Start("plugin-run", () => Invoke(plugin, number));
            s_done.WaitOne();
        }

        /// <summary>One in five plug-ins fails, and the host goes on.</summary>
        private static void Invoke(Type plugin, int number)
        {
            try
            {
                Guard(plugin, number);
            }
            catch (TargetInvocationException failure) when (IsHarmless(failure))
            {
                s_failures++;
            }

            s_done.Set();
        }

        private static void Guard(Type plugin, int number)
        {
            var divisor = number % 5;
            try
            {
                plugin.GetMethod("Answer").Invoke(null, new object[] { divisor });
            }
            finally
            {
                Volatile.Write(ref divisor, 0);
            }
        }

        private static bool IsHarmless(Exception failure) => failure.InnerException is DivideByZeroException;

        /// <summary>A type of an assembly of its own, which goes when nobody holds the type any more.</summary>
        private static Type Load(int number)
        {
            var name = new AssemblyName($"Plugin{number}");
            var assembly = AssemblyBuilder.DefineDynamicAssembly(name, AssemblyBuilderAccess.RunAndCollect);
            var typeName = s_work > 0 ? name.Name : "Plugin";
            var type = assembly.DefineDynamicModule(name.Name).DefineType(typeName, TypeAttributes.Public);
            var method = type.DefineMethod(
                "Answer", MethodAttributes.Public | MethodAttributes.Static, typeof(int), new[] { typeof(int) });
            var code = method.GetILGenerator();
            if (s_work > 0)
            {
                EmitWork(code, s_work);
            }

            code.Emit(OpCodes.Ldc_I4, 42);
            code.Emit(OpCodes.Ldarg_0);
            code.Emit(OpCodes.Div);
            code.Emit(OpCodes.Ret);
            return type.CreateTypeInfo().AsType();
        }

        /// <summary>A plug-in with work to do counts to a large number.</summary>
        private static void EmitWork(ILGenerator code, int work)
        {
            // The last ones are gone by now, and their code with them.
            GC.Collect();
            GC.WaitForPendingFinalizers();
            GC.Collect();
            var count = code.DeclareLocal(typeof(int));
            var again = code.DefineLabel();
            code.MarkLabel(again);
            code.Emit(OpCodes.Ldloc, count);
            code.Emit(OpCodes.Ldc_I4_1);
            code.Emit(OpCodes.Add);
            code.Emit(OpCodes.Stloc, count);
            code.Emit(OpCodes.Ldloc, count);
            code.Emit(OpCodes.Ldc_I4, work);
            code.Emit(OpCodes.Blt, again);
        }

        private sealed class Record
        {
            public int Number;
        }
    }
}
