// patient:  await-circle
// kind:     illness
// illness:  two prices are each computed from the other one, so their tasks await each other for ever
// finding:  await-circle
// culprit:  Metals.PriceSheet.ComputeAsync
// runtimes: 3.1 8 9 10

using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Patients;

namespace Metals
{
    [Patient("await-circle")]
    internal static class Desk
    {
        private static Task s_open;

        private static void Run(PatientArguments args)
        {
            var sheet = new PriceSheet();
            sheet.Define("gold", "silver");
            sheet.Define("silver", "gold");
            s_open = sheet.PriceOfAsync("gold");
            while (sheet.Started < 2)
            {
                Thread.Sleep(1);
            }

            Patient.Ready();
        }
    }

    internal sealed class PriceSheet
    {
        private readonly Dictionary<string, string> _basedOn = new Dictionary<string, string>();
        private readonly ConcurrentDictionary<string, Lazy<Task<decimal>>> _prices =
            new ConcurrentDictionary<string, Lazy<Task<decimal>>>();

        private int _started;

        public int Started => Volatile.Read(ref _started);

        public void Define(string metal, string basedOn) => _basedOn[metal] = basedOn;

        public Task<decimal> PriceOfAsync(string metal) =>
            _prices.GetOrAdd(metal, name => new Lazy<Task<decimal>>(() => ComputeAsync(name))).Value;

        [MethodImpl(MethodImplOptions.NoInlining)]
        private async Task<decimal> ComputeAsync(string metal)
        {
            await Task.Yield(); // its own price is on the sheet before it asks for the other one
            Interlocked.Increment(ref _started);
            return 1.5m * await PriceOfAsync(_basedOn[metal]);
        }
    }
}
