// patient:  aspnet-two-routes
// kind:     illness
// illness:  in ASP.NET Core, one route burns 100 ms of CPU per request, the other blocks its thread for 100 ms, and five clients ask for each
// finding:  hot-method, sync-over-async
// culprit:  Tickets.Api.Booking.Burn, Tickets.Api.Booking.Wait
// runtimes: 9
// The experiment of web-two-routes on Kestrel. Prints its port before `ready`.

using System;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Patients;

namespace Tickets.Api
{
    [Patient("aspnet-two-routes")]
    internal static class BoxOffice
    {
        private static void Run(PatientArguments args)
        {
            var clients = args.Int("clients", 5);
            ThreadPool.SetMinThreads(2 * clients + 8, 8);
            var builder = WebApplication.CreateBuilder();
            builder.Logging.ClearProviders();
            builder.WebHost.UseUrls("http://127.0.0.1:0");
            var app = builder.Build();
            app.MapGet("/burn", context => AnswerAsync(context, Booking.Burn()));
            app.MapGet("/wait", context => AnswerAsync(context, Booking.Wait()));
            app.Start();

            var port = new Uri(app.Urls.Single()).Port;
            LoopbackClients.Start("burn-client", clients, port, "/burn");
            LoopbackClients.Start("wait-client", clients, port, "/wait");
            Patient.Port(port);
            Patient.Ready();
        }

        private static Task AnswerAsync(HttpContext context, string text)
        {
            var body = Encoding.UTF8.GetBytes(text);
            context.Response.ContentLength = body.Length;
            return context.Response.Body.WriteAsync(body, 0, body.Length);
        }
    }

    internal static class Booking
    {
        private const int Milliseconds = 100;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string Burn()
        {
            var seat = 1u;
            for (var end = CpuClock.Milliseconds + Milliseconds; CpuClock.Milliseconds < end;)
            {
                for (var i = 0u; i < 100_000; i++)
                {
                    seat = seat * 31 + i;
                }
            }

            return $"seat {seat}";
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string Wait()
        {
            Task.Delay(Milliseconds).Wait();
            return "paid";
        }
    }
}
