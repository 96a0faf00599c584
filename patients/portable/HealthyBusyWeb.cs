// patient:  healthy-busy-web
// kind:     control
// illness:  none: a busy HTTP server with short handlers
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10
// Prints its port before `ready`.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Text.Json;
using System.Threading.Tasks;
using Patients;

namespace News
{
    [Patient("healthy-busy-web")]
    internal static class Site
    {
        private static void Run(PatientArguments args)
        {
            var server = new LoopbackServer(new Dictionary<string, Func<Task<string>>>
            {
                ["/headlines"] = () => Task.FromResult(Headlines.ToJson()),
                ["/archive"] = async () =>
                {
                    await Task.Delay(5);
                    return Headlines.ToJson();
                },
            });

            LoopbackClients.Start("reader", args.Int("clients", 4), server.Port, "/headlines", pauseMilliseconds: 2);
            LoopbackClients.Start("scholar", 2, server.Port, "/archive", pauseMilliseconds: 2);
            Patient.Port(server.Port);
            Patient.Ready();
        }
    }

    internal static class Headlines
    {
        private static readonly string[] s_latest = Enumerable.Range(1, 20).Select(number => $"Headline number {number}").ToArray();

        public static string ToJson() => JsonSerializer.Serialize(s_latest);
    }
}
