// patient:  slow-http
// kind:     illness
// illness:  every outgoing HTTP call to the carrier takes a second and a half
// finding:  slow-dependency
// culprit:  Shipping.CarrierClient.QuoteAsync
// runtimes: 3.1 8 9 10
// The carrier is a second, patient server in this process. Prints its port before `ready`. Arguments: milliseconds of an answer,
// clients, and timeout, after which a client gives up.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.Http;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Patients;

namespace Shipping
{
    [Patient("slow-http")]
    internal static class QuoteService
    {
        private static Task[] s_workers;

        private static void Run(PatientArguments args)
        {
            var milliseconds = args.Int("milliseconds", 1500);
            var carrier = new LoopbackServer(new Dictionary<string, Func<Task<string>>>
            {
                ["/quote"] = async () =>
                {
                    await Task.Delay(milliseconds);
                    return "12.50";
                },
            });

            var client = new CarrierClient(carrier.Port, args.Int("timeout", 100_000));
            s_workers = Enumerable.Range(1, args.Int("clients", 4)).Select(_ => AskForEverAsync(client)).ToArray();
            while (client.Quotes == 0)
            {
                Thread.Sleep(10);
            }

            Patient.Port(carrier.Port);
            Patient.Ready();
        }

        private static async Task AskForEverAsync(CarrierClient client)
        {
            while (true)
            {
                await client.QuoteAsync();
            }
        }
    }

    internal sealed class CarrierClient
    {
        private readonly HttpClient _http;
        private int _quotes;

        public CarrierClient(int port, int timeout) => _http = new HttpClient
        {
            BaseAddress = new Uri($"http://127.0.0.1:{port}/"),
            Timeout = TimeSpan.FromMilliseconds(timeout),
        };

        public int Quotes => Volatile.Read(ref _quotes);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public async Task<decimal> QuoteAsync()
        {
            try
            {
                return decimal.Parse(await _http.GetStringAsync("quote"));
            }
            catch (OperationCanceledException)
            {
                return 0;
            }
            finally
            {
                Interlocked.Increment(ref _quotes);
            }
        }
    }
}
