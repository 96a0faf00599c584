// patient:  lock-contention-lock-type
// kind:     illness
// illness:  five counter threads queue for one System.Threading.Lock that is held for milliseconds while seats are re-sorted
// finding:  lock-contention
// culprit:  Boxoffice.SeatMap.Take
// runtimes: 9 10
// The C# 8 `lock` statement would use the monitor of the Lock object, hence Enter and Exit.

using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Boxoffice
{
    [Patient("lock-contention-lock-type")]
    internal static class Counters
    {
        private static void Run(PatientArguments args)
        {
            var seats = new SeatMap(count: 1_000_000);
            foreach (var number in Enumerable.Range(1, args.Int("threads", 5)))
            {
                Background.Start($"counter-{number}", () => SellForEver(seats));
            }

            while (seats.Taken < 100)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        private static void SellForEver(SeatMap seats)
        {
            while (true)
            {
                seats.Take();
                Work.Done();
                Thread.Sleep(1); // until the next customer
            }
        }
    }

    internal sealed class SeatMap
    {
        private readonly Lock _gate = new Lock();
        private readonly int[] _ranks;
        private int _taken;
        private long _order;

        public SeatMap(int count) => _ranks = Enumerable.Range(1, count).ToArray();

        public int Taken => Volatile.Read(ref _taken);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Take()
        {
            _gate.Enter();
            try
            {
                _taken++;
                _order = Rank();
            }
            finally
            {
                _gate.Exit();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private long Rank()
        {
            var order = 0L;
            foreach (var rank in _ranks)
            {
                order = order * 5 / 4 + rank; // depends on the step before, so it cannot be vectorised
            }

            return order;
        }
    }
}
