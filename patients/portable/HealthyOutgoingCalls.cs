// patient:  healthy-outgoing-calls
// kind:     control
// illness:  none: many quick database commands and HTTP calls, some for what is not there, and one long poll that is meant to wait
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10
// Arguments: commands a second. Prints its port before `ready`.

using System;
using System.Collections.Generic;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Data.SqlClient;
using Patients;

namespace Clinic
{
    [Patient("healthy-outgoing-calls")]
    internal static class Reception
    {
        private static readonly SqlConnection s_connection = new SqlConnection("db.clinic.example", "Patients");
        private static Task[] s_workers;
        private static int s_done;

        private static void Run(PatientArguments args)
        {
            var laboratory = new LoopbackServer(new Dictionary<string, Func<Task<string>>>
            {
                ["/results"] = () => Task.FromResult("fine"),
                ["/news"] = async () =>
                {
                    await Task.Delay(20000);
                    return "nothing new";
                },
            });

            var http = new HttpClient { BaseAddress = new Uri($"http://127.0.0.1:{laboratory.Port}/") };
            s_workers = new[]
            {
                AskForEverAsync(http, "results", pause: 20),
                AskForEverAsync(http, "results/of/a/stranger", pause: 50),
                WaitForNewsAsync(http),
            };
            Background.StartPaced("commands", args.Int("commands", 100), long.MaxValue, Query);
            while (Volatile.Read(ref s_done) < 10)
            {
                Thread.Sleep(10);
            }

            Patient.Port(laboratory.Port);
            Patient.Ready();
        }

        private static void Query()
        {
            using var command = new SqlCommand { Connection = s_connection, CommandText = "SELECT 1" };
            command.ExecuteScalar();
            Interlocked.Increment(ref s_done);
        }

        private static async Task AskForEverAsync(HttpClient http, string path, int pause)
        {
            while (true)
            {
                using var answer = await http.GetAsync(path);
                Interlocked.Increment(ref s_done);
                await Task.Delay(pause);
            }
        }

        private static async Task WaitForNewsAsync(HttpClient http)
        {
            while (true)
            {
                using var answer = await http.GetAsync("news");
            }
        }
    }
}
