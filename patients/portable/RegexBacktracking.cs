// patient:  regex-backtracking
// kind:     illness
// illness:  a much copied e-mail pattern needs about a second of CPU to refuse one slightly wrong address
// finding:  regex-backtracking
// culprit:  Accounts.EmailAddress.IsValid
// runtimes: 3.1 8 9 10
// Each letter more doubles the time. The address is lengthened until one check takes half a
// second, so that the patient is the same on a fast and on a slow machine.

using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;
using Patients;

namespace Accounts
{
    [Patient("regex-backtracking")]
    internal static class SignUp
    {
        private const int SlowMilliseconds = 500;

        private static void Run(PatientArguments args)
        {
            var address = "jonathanappleseed!shop.example";
            for (var clock = Stopwatch.StartNew(); ; clock.Restart())
            {
                EmailAddress.IsValid(address);
                if (clock.ElapsedMilliseconds >= SlowMilliseconds)
                {
                    break;
                }

                address = "j" + address;
            }

            Background.Start("sign-up", () => CheckForEver(address));
            Patient.Ready();
        }

        private static void CheckForEver(string address)
        {
            while (!EmailAddress.IsValid(address))
            {
            }
        }
    }

    internal static class EmailAddress
    {
        private static readonly Regex s_pattern =
            new Regex(@"^([0-9a-zA-Z]([-.\w]*[0-9a-zA-Z])*@([0-9a-zA-Z][-\w]*[0-9a-zA-Z]\.)+[a-zA-Z]{2,9})$");

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static bool IsValid(string address) => s_pattern.IsMatch(address);
    }
}
