// patient:  healthy-metrics
// kind:     control
// illness:  none: a ticket shop that measures itself, with meters of every kind and an event source with counters
// finding:  none
// culprit:  none
// runtimes: 9 10
// Arguments: series=N sells at N counters, each a time series of its own; broken=1 adds a gauge whose callback fails.

using System;
using System.Collections.Generic;
using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;
using System.Threading;
using Patients;

namespace Box.Office
{
    [Patient("healthy-metrics")]
    internal static class Shop
    {
        private static readonly Meter s_meter = new Meter(
            "Box.Office", "2.1", new[] { new KeyValuePair<string, object>("city", "Gent") });

        private static int s_open;

        private static void Run(PatientArguments args)
        {
            var series = args.Int("series", 3);
            var broken = args.Int("broken", 2) == 1;

            var sold = s_meter.CreateCounter<long>("tickets.sold", "{ticket}", "Tickets sold");
            var waiting = s_meter.CreateUpDownCounter<int>("queue.length", "{person}", "People in the queue");
            var price = s_meter.CreateHistogram<double>("ticket.price", "EUR", "Price of a ticket");
            var load = s_meter.CreateGauge<double>("door.load", null, "How full the doors are");
            s_meter.CreateObservableGauge("hall.temperature", Temperatures, "Cel", "Temperature of the halls");
            s_meter.CreateObservableCounter("doors.opened", () => (long)Interlocked.Add(ref s_open, 2), "{door}");
            s_meter.CreateObservableUpDownCounter("balance", () => -12.5, "EUR");
            if (broken)
            {
                s_meter.CreateObservableGauge("broken", new Func<int>(Broken));
            }

            var counters = new TicketCounters();
            Background.Start("seller", () =>
            {
                for (var turn = 0; ; turn++)
                {
                    var counter = new KeyValuePair<string, object>("counter", (turn % series).ToString());
                    sold.Add(2, counter, new KeyValuePair<string, object>("paid", "cash, or \"card\"=later\u001b[31m"));
                    waiting.Add(turn % 2 == 0 ? 3 : -3);
                    price.Record(10 + turn % 91, counter);
                    load.Record(0.25);
                    counters.Sold(turn % 10);
                    Work.Done();
                    Thread.Sleep(5);
                }
            });
            Patient.Ready();
        }

        private static int Broken() => throw new InvalidOperationException("the sensor is gone");

        private static IEnumerable<Measurement<double>> Temperatures()
        {
            yield return new Measurement<double>(19.5, new KeyValuePair<string, object>("hall", "red"));
            yield return new Measurement<double>(-3, new KeyValuePair<string, object>("hall", "ice"));
        }
    }

    [EventSource(Name = "Box-Office-Counters")]
    internal sealed class TicketCounters : EventSource
    {
        private readonly EventCounter _seconds;
        private readonly IncrementingEventCounter _sold;

        public TicketCounters()
        {
            _seconds = new EventCounter("seconds-per-sale", this) { DisplayName = "Time per sale", DisplayUnits = "s" };
            _seconds.AddMetadata("hall", "red");
            _sold = new IncrementingEventCounter("sales", this)
            {
                DisplayName = "Sales",
                DisplayRateTimeScale = TimeSpan.FromSeconds(1),
            };
        }

        public void Sold(int seconds)
        {
            _seconds.WriteMetric(seconds);
            _sold.Increment();
        }
    }
}
