// patient:  healthy-starts-children
// kind:     control
// illness:  none: a program that hands its work to a .NET process of its own
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10
// Prints `child PID` once the child is ready. With `wait=1` it starts the child only after a line on its standard input.
// The child is this patient with `child=1`; it ends when its standard input does, so it does not outlive its parent.

using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using Patients;

namespace Printing
{
    [Patient("healthy-starts-children")]
    internal static class PrintServer
    {
        private const string Id = "healthy-starts-children";
        private static Process s_spooler;

        private static void Run(PatientArguments args)
        {
            if (args.Int("child", 0) > 0)
            {
                EndWithStandardInput();
                Patient.Ready();
                return;
            }

            if (args.Int("wait", 0) > 0)
            {
                Console.In.ReadLine();
            }

            s_spooler = Process.Start(Spooler());
            while (s_spooler.StandardOutput.ReadLine() is string line && line != "ready")
            {
            }

            Console.Out.WriteLine($"child {s_spooler.Id}");
            Patient.Ready();
        }

        /// <summary>The command line of this process, with other words for the patient.</summary>
        private static ProcessStartInfo Spooler()
        {
            const string words = Id + " child=1";
            var spooler = new ProcessStartInfo(Process.GetCurrentProcess().MainModule.FileName)
            {
                UseShellExecute = false,
                RedirectStandardInput = true,
                RedirectStandardOutput = true,
            };
            var own = File.ReadAllText("/proc/self/cmdline").TrimEnd('\0').Split('\0').Skip(1);
            foreach (var word in own.TakeWhile(word => word != Id))
            {
                spooler.ArgumentList.Add(word);
            }

            if (string.IsNullOrEmpty(Environment.GetEnvironmentVariable("PATIENT")))
            {
                foreach (var word in words.Split(' '))
                {
                    spooler.ArgumentList.Add(word);
                }
            }
            else
            {
                spooler.Environment["PATIENT"] = words;
            }

            return spooler;
        }

        private static void EndWithStandardInput() => Background.Start("parent-watch", () =>
        {
            Console.In.ReadToEnd();
            Environment.Exit(0);
        });
    }
}
