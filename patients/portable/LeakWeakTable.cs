// patient:  leak-weak-table
// kind:     illness
// illness:  what is noted beside long-lived customers in a ConditionalWeakTable is never taken out again
// finding:  weak-table-leak
// culprit:  Crm.Notes.Add, Crm.Notes.s_histories
// runtimes: 3.1 8 9 10
// Each customer lives as long as the program, so its history does, too. Arguments: rate (MB per second) and cap (MB).

using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using Patients;

namespace Crm
{
    [Patient("leak-weak-table")]
    internal static class Office
    {
        private static readonly Customer[] s_customers = Enumerable.Range(0, 50).Select(_ => new Customer()).ToArray();
        private static int s_number;

        private static void Run(PatientArguments args)
        {
            Growth.Start("note-taker", args, Note.ApproximateBytes, () => Notes.Add(s_customers[s_number++ % s_customers.Length]));
            Patient.Ready();
        }
    }

    internal sealed class Customer
    {
        public int Visits { get; set; }
    }

    internal sealed class History
    {
        public List<Note> Entries { get; } = new List<Note>();
    }

    internal sealed class Note
    {
        public const int ApproximateBytes = 4 * 1024;

        private readonly byte[] _scan = new byte[ApproximateBytes];

        public int Length => _scan.Length;
    }

    internal static class Notes
    {
        private static readonly ConditionalWeakTable<Customer, History> s_histories = new ConditionalWeakTable<Customer, History>();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Add(Customer customer)
        {
            customer.Visits++;
            s_histories.GetOrCreateValue(customer).Entries.Add(new Note());
        }
    }
}
