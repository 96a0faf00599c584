// patient:  pool-starvation
// kind:     illness
// illness:  every pool thread blocks on the result of an async call that itself needs a pool thread, while requests pile up
// finding:  thread-pool-starvation
// culprit:  Catalog.PriceService.GetPrice
// runtimes: 3.1 8 9 10
// The inner task stands in the shared queue, behind all requests: with Task.Run it would be in the blocked
// thread's own queue, which .NET 10 empties when a thread blocks. A rush at the start fills the shared queue,
// and then requests arrive faster than the pool adds threads. It begins with twelve, so that the few that it has
// just added are few beside those that block. Argument: rate (requests per second).

using System;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Patients;

namespace Catalog
{
    [Patient("pool-starvation")]
    internal static class Storefront
    {
        private const int Rush = 100;
        private const int FewestThreads = 12;
        private const int MostThreads = 200;
        private const int MostPending = 20_000;

        private static void Run(PatientArguments args)
        {
            var requestsPerSecond = args.Int("rate", 100);
            var prices = new PriceService();
            ThreadPool.GetMaxThreads(out _, out var ioThreads);
            ThreadPool.SetMaxThreads(MostThreads, ioThreads);
            ThreadPool.SetMinThreads(FewestThreads, FewestThreads);

            for (var i = 0; i < Rush; i++)
            {
                Ask(prices, i);
            }

            Background.StartPaced("request-source", requestsPerSecond, long.MaxValue, () => Ask(prices, requestsPerSecond));
            while (ThreadPool.PendingWorkItemCount < 2 * Rush)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        private static void Ask(PriceService prices, int sku)
        {
            if (ThreadPool.PendingWorkItemCount < MostPending)
            {
                ThreadPool.QueueUserWorkItem(_ => prices.GetPrice(sku));
            }
        }
    }

    internal sealed class PriceService
    {
        /// <summary>The old, synchronous face of the service.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public decimal GetPrice(int sku) => GetPriceAsync(sku).Result;

        public async Task<decimal> GetPriceAsync(int sku)
        {
            var net = await Task.Factory.StartNew(
                () => LookUp(sku), CancellationToken.None, TaskCreationOptions.PreferFairness, TaskScheduler.Default);
            return Math.Round(net * 1.19m, 2);
        }

        private static decimal LookUp(int sku) => 5 + sku % 100;
    }
}
