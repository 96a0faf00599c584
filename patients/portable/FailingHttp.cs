// patient:  failing-http
// kind:     illness
// illness:  every second outgoing HTTP call is answered with 503, and prices are shown without tax
// finding:  slow-dependency
// culprit:  Billing.TaxClient.RateAsync
// runtimes: 3.1 8 9 10
// The tax office is a second, moody server in this process. With refused=1 nobody is there at all. Prints its port before `ready`.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.Http;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Patients;

namespace Billing
{
    [Patient("failing-http")]
    internal static class Invoices
    {
        private static Task[] s_workers;

        private static void Run(PatientArguments args)
        {
            var asked = 0;
            var office = new LoopbackServer(new Dictionary<string, Func<Task<string>>>
            {
                ["/rates/de?secret=letmein"] =
                    () => Task.FromResult(Interlocked.Increment(ref asked) % 2 == 0 ? LoopbackServer.Unavailable : "19"),
            });

            var client = new TaxClient(args.Int("refused", 0) == 1 ? 1 : office.Port);
            s_workers = Enumerable.Range(1, args.Int("clients", 2)).Select(_ => BillForEverAsync(client)).ToArray();
            while (client.Missing == 0)
            {
                Thread.Sleep(10);
            }

            Patient.Port(office.Port);
            Patient.Ready();
        }

        private static async Task BillForEverAsync(TaxClient client)
        {
            while (true)
            {
                await client.RateAsync();
                await Task.Delay(100);
            }
        }
    }

    internal sealed class TaxClient
    {
        private readonly HttpClient _http;
        private int _missing;

        public TaxClient(int port) => _http = new HttpClient { BaseAddress = new Uri($"http://127.0.0.1:{port}/") };

        public int Missing => Volatile.Read(ref _missing);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public async Task<decimal> RateAsync()
        {
            try
            {
                using var answer = await _http.GetAsync("rates/de?secret=letmein");
                return decimal.Parse(await answer.EnsureSuccessStatusCode().Content.ReadAsStringAsync());
            }
            catch (HttpRequestException)
            {
                Interlocked.Increment(ref _missing);
                return 0;
            }
        }
    }
}
