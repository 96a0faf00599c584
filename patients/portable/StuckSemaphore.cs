// patient:  stuck-semaphore
// kind:     illness
// illness:  a charge that failed never gave its place in a SemaphoreSlim back, so twenty more wait for it for ever
// finding:  stuck-tasks
// culprit:  Payments.Till.ChargeAsync
// runtimes: 3.1 8 9 10

using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Patients;

namespace Payments
{
    [Patient("stuck-semaphore")]
    internal static class Counter
    {
        private static List<Task> s_open;

        private static void Run(PatientArguments args)
        {
            var customers = args.Int("count", 20);
            var till = new Till();
            var refused = till.ChargeAsync(-1);
            while (!refused.IsFaulted)
            {
                Thread.Sleep(1);
            }

            s_open = Enumerable.Range(1, customers).Select(amount => ServeAsync(till, amount)).ToList();
            Patient.Ready();
        }

        private static async Task ServeAsync(Till till, int amount) => await till.ChargeAsync(amount);
    }

    internal sealed class Till
    {
        private readonly SemaphoreSlim _one = new SemaphoreSlim(1, 1);
        private int _total;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public async Task<int> ChargeAsync(int amount)
        {
            await _one.WaitAsync();
            if (amount < 0)
            {
                throw new ArgumentOutOfRangeException(nameof(amount)); // the way out without Release
            }

            _total += amount;
            _one.Release();
            return _total;
        }
    }
}
