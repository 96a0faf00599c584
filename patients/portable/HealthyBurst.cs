// patient:  healthy-burst
// kind:     control
// illness:  bursts of work that build up some megabytes and let them go again
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10

using System.Collections.Generic;
using System.Threading;
using Patients;

namespace Payroll
{
    [Patient("healthy-burst")]
    internal static class MonthEnd
    {
        private static void Run(PatientArguments args)
        {
            Compute(2000);
            Background.Start("payroll", () =>
            {
                for (var month = 0; ; month++)
                {
                    Compute(1000 + month % 7 * 500);
                    Thread.Sleep(150);
                }
            });
            Patient.Ready();
        }

        private static void Compute(int employees)
        {
            var slips = new List<Slip>();
            for (var number = 0; number < employees; number++)
            {
                slips.Add(new Slip());
            }

            Thread.Sleep(50); // they are sent here
        }
    }

    internal sealed class Slip
    {
        private readonly byte[] _text = new byte[2048];

        public int Length => _text.Length;
    }
}
