// patient:  deadlock-lock-type
// kind:     illness
// illness:  two threads each hold one System.Threading.Lock and wait for ever for the other's
// finding:  deadlock
// culprit:  Trading.OrderBook.Match
// runtimes: 9 10
// The C# 8 `lock` statement would use the monitor of the Lock object, hence Enter and Exit.

using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Trading
{
    [Patient("deadlock-lock-type")]
    internal static class Exchange
    {
        private static void Run(PatientArguments args)
        {
            var bothOpened = new Barrier(2);
            var shares = new OrderBook("shares", bothOpened);
            var bonds = new OrderBook("bonds", bothOpened);

            var buyer = Background.Start("buyer", () => shares.Match(bonds, 10));
            var seller = Background.Start("seller", () => bonds.Match(shares, 5));

            while (OrderBook.Opened < 2)
            {
                Thread.Sleep(1);
            }

            Background.WaitUntilBlocked(buyer, seller);
            Patient.Ready();
        }
    }

    internal sealed class OrderBook
    {
        private static int s_opened;

        private readonly Lock _gate = new Lock();
        private readonly Barrier _bothOpened;
        private int _position;

        public OrderBook(string name, Barrier bothOpened)
        {
            Name = name;
            _bothOpened = bothOpened;
        }

        public static int Opened => Volatile.Read(ref s_opened);

        public string Name { get; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Match(OrderBook other, int quantity)
        {
            _gate.Enter();
            try
            {
                _position -= quantity;
                _bothOpened.SignalAndWait();
                Interlocked.Increment(ref s_opened);
                other._gate.Enter();
                try
                {
                    other._position += quantity;
                }
                finally
                {
                    other._gate.Exit();
                }
            }
            finally
            {
                _gate.Exit();
            }
        }
    }
}
