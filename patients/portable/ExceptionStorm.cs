// patient:  exception-storm
// kind:     illness
// illness:  thousands of exceptions a second are thrown and quietly caught while a price feed is read
// finding:  exception-storm
// culprit:  Import.PriceFeed.ParseAmount
// runtimes: 3.1 8 9 10
// Arguments: rate (rows per second), crash (the row at which the feed ends the process by an exception that nobody
// catches; never if 0).

using System;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Import
{
    [Patient("exception-storm")]
    internal static class Importer
    {
        private static void Run(PatientArguments args)
        {
            var feed = new PriceFeed(args.Int("crash", 0));
            Background.StartPaced("price-feed", args.Int("rate", 4000), long.MaxValue, feed.ReadRow);
            while (feed.Skipped < 100)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }
    }

    internal sealed class PriceFeed
    {
        private readonly int _lastRow;
        private int _rows;
        private int _skipped;
        private decimal _sum;

        public PriceFeed(int lastRow) => _lastRow = lastRow;

        public int Skipped => Volatile.Read(ref _skipped);

        public void ReadRow()
        {
            if (_rows == _lastRow && _lastRow > 0)
            {
                throw new InvalidOperationException($"the feed ends after {_rows} rows");
            }

            try
            {
                _sum += ParseAmount(NextRow());
            }
            catch (FormatException)
            {
                _skipped++;
            }
        }

        /// <summary>The supplier changed to a decimal comma and a currency sign; nine rows of ten do not parse.</summary>
        private string NextRow() => ++_rows % 10 == 0 ? "SKU-1;19" : "SKU-1;19,90 EUR";

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int ParseAmount(string row) => int.Parse(row.Substring(row.IndexOf(';') + 1));
    }
}
