// patient:  leak-static-collection
// kind:     illness
// illness:  every order ever seen is kept in a static list
// finding:  memory-leak
// culprit:  Shop.OrderHistory.Record, Shop.OrderHistory.s_orders
// runtimes: 3.1 8 9 10
// Arguments: rate (MB per second) and cap (MB).

using System.Collections.Generic;
using System.Runtime.CompilerServices;
using Patients;

namespace Shop
{
    [Patient("leak-static-collection")]
    internal static class Counter
    {
        private static int s_number;

        private static void Run(PatientArguments args)
        {
            Growth.Start("order-intake", args, Order.ApproximateBytes, () => OrderHistory.Record(new Order(++s_number)));
            Patient.Ready();
        }
    }

    internal sealed class Order
    {
        public const int ApproximateBytes = 2200;

        private readonly byte[] _document = new byte[2048];

        public Order(int number)
        {
            Number = number;
            Customer = $"customer {number % 977}";
        }

        public int Number { get; }

        public string Customer { get; }

        public int DocumentLength => _document.Length;
    }

    internal static class OrderHistory
    {
        private static readonly List<Order> s_orders = new List<Order>();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Record(Order order) => s_orders.Add(order);
    }
}
