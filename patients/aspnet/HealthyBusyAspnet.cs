// patient:  healthy-busy-aspnet
// kind:     control
// illness:  none: a busy ASP.NET Core server that answers JSON
// finding:  none
// culprit:  none
// runtimes: 9
// Prints its port before `ready`.

using System;
using System.Linq;
using System.Text.Json;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Patients;

namespace Weather
{
    [Patient("healthy-busy-aspnet")]
    internal static class ForecastApi
    {
        private static void Run(PatientArguments args)
        {
            var builder = WebApplication.CreateBuilder();
            builder.Logging.ClearProviders();
            builder.WebHost.UseUrls("http://127.0.0.1:0");
            var app = builder.Build();
            app.MapGet("/today", context => AnswerAsync(context, days: 1));
            app.MapGet("/week", async context =>
            {
                await Task.Delay(5);
                await AnswerAsync(context, days: 7);
            });
            app.Start();

            var port = new Uri(app.Urls.Single()).Port;
            LoopbackClients.Start("today", args.Int("clients", 4), port, "/today", pauseMilliseconds: 2);
            LoopbackClients.Start("week", 2, port, "/week", pauseMilliseconds: 2);
            Patient.Port(port);
            Patient.Ready();
        }

        private static Task AnswerAsync(HttpContext context, int days)
        {
            var body = JsonSerializer.SerializeToUtf8Bytes(Forecast.For(days));
            context.Response.ContentType = "application/json";
            context.Response.ContentLength = body.Length;
            return context.Response.Body.WriteAsync(body, 0, body.Length);
        }
    }

    internal sealed class Forecast
    {
        public int Day { get; set; }

        public int Celsius { get; set; }

        public static Forecast[] For(int days) =>
            Enumerable.Range(0, days).Select(day => new Forecast { Day = day, Celsius = 15 + day * 7 % 11 }).ToArray();
    }
}
