// patient:  web-two-routes
// kind:     illness
// illness:  one route burns 100 ms of CPU per request, the other blocks its thread for 100 ms, and five clients ask for each
// finding:  hot-method, sync-over-async
// culprit:  Shop.Api.Checkout.Burn, Shop.Api.Checkout.Wait
// runtimes: 3.1 8 9 10
// The on-CPU/off-CPU experiment: CPU time must lead to Burn alone, waiting time to Wait as well.
// The pool has threads enough for all ten requests. Prints its port before `ready`.

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Patients;

namespace Shop.Api
{
    [Patient("web-two-routes")]
    internal static class Server
    {
        private static void Run(PatientArguments args)
        {
            var clients = args.Int("clients", 5);
            ThreadPool.SetMinThreads(2 * clients + 8, 8);
            var server = new LoopbackServer(new Dictionary<string, Func<Task<string>>>
            {
                ["/burn"] = () => Task.FromResult(Checkout.Burn()),
                ["/wait"] = () => Task.FromResult(Checkout.Wait()),
            });

            LoopbackClients.Start("burn-client", clients, server.Port, "/burn");
            LoopbackClients.Start("wait-client", clients, server.Port, "/wait");
            Patient.Port(server.Port);
            Patient.Ready();
        }
    }

    internal static class Checkout
    {
        private const int Milliseconds = 100;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string Burn()
        {
            var price = 1u;
            for (var end = CpuClock.Milliseconds + Milliseconds; CpuClock.Milliseconds < end;)
            {
                for (var i = 0u; i < 100_000; i++)
                {
                    price = price * 31 + i;
                }
            }

            return $"price {price}";
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string Wait()
        {
            Task.Delay(Milliseconds).Wait();
            return "paid";
        }
    }
}
