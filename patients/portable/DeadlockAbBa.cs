// patient:  deadlock-ab-ba
// kind:     illness
// illness:  two threads each hold one account's lock and wait for ever for the other's
// finding:  deadlock
// culprit:  Bank.Ledger.Transfer
// runtimes: 3.1 8 9 10
// Transfer locks the paying account first and the receiving one second, so two transfers in
// opposite directions can each hold what the other needs.

using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Bank
{
    [Patient("deadlock-ab-ba")]
    internal static class Branch
    {
        private static void Run(PatientArguments args)
        {
            var bothDebited = new Barrier(2);
            var ledger = new Ledger(onDebited: () => bothDebited.SignalAndWait());
            var salary = new Account("salary", 5000);
            var savings = new Account("savings", 20000);

            var toSavings = Background.Start("standing-order", () => ledger.Transfer(salary, savings, 250));
            var toSalary = Background.Start("teller", () => ledger.Transfer(savings, salary, 100));

            while (ledger.Debits < 2)
            {
                Thread.Sleep(1);
            }

            Background.WaitUntilBlocked(toSavings, toSalary);
            Patient.Ready();
        }
    }

    internal sealed class Account
    {
        public Account(string name, decimal balance)
        {
            Name = name;
            Balance = balance;
        }

        public string Name { get; }

        public decimal Balance { get; set; }
    }

    internal sealed class Ledger
    {
        private readonly ThreadStart _onDebited;
        private int _debits;

        public Ledger(ThreadStart onDebited) => _onDebited = onDebited;

        public int Debits => Volatile.Read(ref _debits);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Transfer(Account from, Account to, decimal amount)
        {
            lock (from)
            {
                from.Balance -= amount;
                _onDebited();
                Interlocked.Increment(ref _debits);
                lock (to)
                {
                    to.Balance += amount;
                }
            }
        }
    }
}
