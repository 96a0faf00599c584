// patient:  jit-storm
// kind:     illness
// illness:  a rule is compiled anew for every request, so the just-in-time compiler never rests
// finding:  jit-storm
// culprit:  Rules.RuleEngine.Compile
// runtimes: 3.1 8 9 10

using System;
using System.Linq.Expressions;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Rules
{
    [Patient("jit-storm")]
    internal static class Approval
    {
        private static int s_decisions;

        private static void Run(PatientArguments args)
        {
            Background.StartPaced("approval", args.Int("rate", 1000), long.MaxValue, DecideNext);
            while (Volatile.Read(ref s_decisions) < 100)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        private static void DecideNext()
        {
            var rule = RuleEngine.Compile(limit: 100 + s_decisions % 900);
            rule(s_decisions);
            s_decisions++;
        }
    }

    internal static class RuleEngine
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Func<int, bool> Compile(int limit)
        {
            var amount = Expression.Parameter(typeof(int), "amount");
            var inRange = Expression.AndAlso(
                Expression.GreaterThan(amount, Expression.Constant(0)),
                Expression.LessThan(amount, Expression.Constant(limit)));
            return Expression.Lambda<Func<int, bool>>(inRange, amount).Compile();
        }
    }
}
