// patient:  lock-contention
// kind:     illness
// illness:  six order threads queue for one lock that is held for milliseconds while all stock is recounted
// finding:  lock-contention
// culprit:  Inventory.Stock.Reserve
// runtimes: 3.1 8 9 10

using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Inventory
{
    [Patient("lock-contention")]
    internal static class OrderIntake
    {
        private static void Run(PatientArguments args)
        {
            var stock = new Stock(articles: 1_000_000);
            foreach (var number in Enumerable.Range(1, args.Int("threads", 6)))
            {
                Background.Start($"order-{number}", () => TakeOrders(stock, number));
            }

            while (stock.Reservations < 100)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        private static void TakeOrders(Stock stock, int article)
        {
            while (true)
            {
                article = (article * 31 + 7) & 0xFFFF;
                stock.Reserve(article);
                Work.Done();
                Thread.Sleep(1); // until the next order
            }
        }
    }

    internal sealed class Stock
    {
        private readonly object _gate = new object();
        private readonly int[] _counts;
        private int _reservations;
        private long _total;

        public Stock(int articles) => _counts = Enumerable.Repeat(1000, articles).ToArray();

        public int Reservations => Volatile.Read(ref _reservations);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Reserve(int article)
        {
            lock (_gate)
            {
                _counts[article]--;
                _total = Recount();
                _reservations++;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private long Recount()
        {
            var total = 0L;
            foreach (var count in _counts)
            {
                total = total * 3 / 2 + count; // a weighted total, which cannot be vectorised
            }

            return total;
        }
    }
}
