// patient:  hot-method
// kind:     illness
// illness:  one method reads a whole rule book from front to back for every order line and uses up a core
// finding:  hot-method
// culprit:  Pricing.DiscountBook.FindBest
// runtimes: 3.1 8 9 10

using System;
using System.Runtime.CompilerServices;
using Patients;

namespace Pricing
{
    [Patient("hot-method")]
    internal static class Till
    {
        private static decimal s_takings;

        private static void Run(PatientArguments args)
        {
            var book = new DiscountBook(rules: args.Int("rules", 20_000));
            Background.Start("till", () => ServeCustomers(book));
            Patient.Ready();
        }

        private static void ServeCustomers(DiscountBook book)
        {
            for (var line = 0; ; line++)
            {
                var quantity = 1 + line % 12;
                var discount = book.FindBest(sku: line % 5000, quantity);
                s_takings += Total(quantity, discount);
                Work.Done();
            }
        }

        private static decimal Total(int quantity, int discountPercent) => quantity * 9.99m * (100 - discountPercent) / 100;
    }

    internal sealed class DiscountBook
    {
        private readonly Rule[] _rules;

        public DiscountBook(int rules)
        {
            var random = new Random(7);
            _rules = new Rule[rules];
            for (var i = 0; i < rules; i++)
            {
                _rules[i] = new Rule { Sku = random.Next(5000), FromQuantity = random.Next(1, 20), Percent = random.Next(1, 40) };
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int FindBest(int sku, int quantity)
        {
            var best = 0;
            foreach (var rule in _rules)
            {
                if (rule.Sku == sku && rule.FromQuantity <= quantity && rule.Percent > best)
                {
                    best = rule.Percent;
                }
            }

            return best;
        }

        private sealed class Rule
        {
            public int Sku;
            public int FromQuantity;
            public int Percent;
        }
    }
}
