// patient:  leak-event-handlers
// kind:     illness
// illness:  closed views stay alive because they never unsubscribe from a static event
// finding:  event-handler-leak
// culprit:  Desk.QuoteView.Open, Desk.QuoteBoard.PriceChanged
// runtimes: 3.1 8 9 10
// Arguments: rate (MB per second) and cap (MB); feeds=2 lets each view also listen to an event of an object.

using System;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Desk
{
    [Patient("leak-event-handlers")]
    internal static class TradingDesk
    {
        private static readonly RateFeed s_feed = new RateFeed();

        private static void Run(PatientArguments args)
        {
            var ofObject = args.Int("feeds", 1) > 1;
            Growth.Start("view-opener", args, QuoteView.ApproximateBytes, ofObject ? (Action)Listen : OpenAndClose);
            Background.Start("price-ticker", Tick);
            Patient.Ready();
        }

        private static void Listen() => s_feed.RateChanged += new RateView().OnRate;

        private static void OpenAndClose()
        {
            var view = new QuoteView();
            view.Open();
            view.Close();
        }

        private static void Tick()
        {
            for (var price = 100m; ; price += 0.01m)
            {
                QuoteBoard.Publish(price);
                Thread.Sleep(1000);
            }
        }
    }

    internal delegate void RateHandler(decimal rate);

    internal sealed class RateFeed
    {
        public event RateHandler RateChanged;

        public event Action<decimal> Closed;

        public void Close() => Closed?.Invoke(0m);

        public void Publish(decimal rate) => RateChanged?.Invoke(rate);
    }

    internal sealed class RateView
    {
        private readonly byte[] _bitmap = new byte[QuoteView.ApproximateBytes];

        public void OnRate(decimal rate) => _bitmap[0] = (byte)rate;
    }

    internal static class QuoteBoard
    {
        public static event Action<decimal> PriceChanged;

        public static void Publish(decimal price) => PriceChanged?.Invoke(price);
    }

    internal sealed class QuoteView
    {
        public const int ApproximateBytes = 32 * 1024;

        private readonly byte[] _bitmap = new byte[ApproximateBytes];
        private decimal _last;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Open() => QuoteBoard.PriceChanged += OnPriceChanged;

        public void Close() => _bitmap[0] = 0; // the handler is forgotten here

        private void OnPriceChanged(decimal price) => _last = Math.Max(_last, price);
    }
}
