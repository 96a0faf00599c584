// patient:  sick-web-shop
// kind:     illness
// illness:  a web shop in trouble: its search swallows exceptions, its baskets are never forgotten, its payments wait for replies that never come
// finding:  exception-storm, memory-leak, stuck-tasks
// culprit:  Webshop.PriceTag.Parse, Webshop.Baskets.s_open, Webshop.PaymentGateway.AwaitReplyAsync
// runtimes: 3.1 8 9 10
// Several illnesses at once, as they come in life. Prints its port before `ready`. `clients` use each route.

using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Patients;

namespace Webshop
{
    [Patient("sick-web-shop")]
    internal static class Storefront
    {
        private static readonly PaymentGateway s_gateway = new PaymentGateway();

        private static void Run(PatientArguments args)
        {
            var payments = args.Int("payments", 40);
            var server = new LoopbackServer(new Dictionary<string, Func<Task<string>>>
            {
                ["/search"] = () => Task.FromResult(Search.Cheapest()),
                ["/basket"] = () => Task.FromResult(Baskets.Fill()),
                ["/pay"] = () => Task.FromResult(Checkout.Begin(s_gateway)),
            });

            var clients = args.Int("clients", 2);
            LoopbackClients.Start("search", clients, server.Port, "/search", 20);
            LoopbackClients.Start("basket", clients, server.Port, "/basket", 10);
            for (var order = 0; order < payments; order++)
            {
                Checkout.Begin(s_gateway);
            }

            while (s_gateway.Waiting < payments || Baskets.Count < 20)
            {
                Thread.Sleep(10);
            }

            Patient.Port(server.Port);
            Patient.Ready();
        }
    }

    internal static class Search
    {
        private static readonly string[] s_tags = { "19,90 EUR", "5,00 EUR", "12", "8,25 EUR", "99,00 EUR" };

        /// <summary>The supplier changed the format of its prices; what cannot be read is left out.</summary>
        public static string Cheapest()
        {
            var cheapest = int.MaxValue;
            foreach (var tag in s_tags)
            {
                try
                {
                    cheapest = Math.Min(cheapest, PriceTag.Parse(tag));
                }
                catch (FormatException)
                {
                    // not for sale, then
                }
            }

            return $"from {cheapest}";
        }
    }

    internal static class PriceTag
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Parse(string tag) => int.Parse(tag);
    }

    internal sealed class Basket
    {
        private readonly byte[] _session = new byte[24_000];

        public int SessionLength => _session.Length;
    }

    internal static class Baskets
    {
        private const int Most = 12_000;

        private static readonly List<Basket> s_open = new List<Basket>();

        public static int Count
        {
            get
            {
                lock (s_open)
                {
                    return s_open.Count;
                }
            }
        }

        /// <summary>A basket is opened for every visitor, and closed by nobody.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string Fill()
        {
            lock (s_open)
            {
                if (s_open.Count < Most)
                {
                    s_open.Add(new Basket());
                }

                return $"basket {s_open.Count}";
            }
        }
    }

    internal static class Checkout
    {
        private static readonly ConcurrentBag<Task> s_underWay = new ConcurrentBag<Task>();

        public static string Begin(PaymentGateway gateway)
        {
            s_underWay.Add(PayAsync(gateway));
            return "thank you, your payment is being processed";
        }

        private static async Task<string> PayAsync(PaymentGateway gateway)
        {
            var receipt = await gateway.AwaitReplyAsync();
            return $"receipt {receipt}";
        }
    }

    internal sealed class PaymentGateway
    {
        private readonly ConcurrentDictionary<Guid, TaskCompletionSource<string>> _pending =
            new ConcurrentDictionary<Guid, TaskCompletionSource<string>>();

        public int Waiting => _pending.Count;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public async Task<string> AwaitReplyAsync()
        {
            var reply = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
            _pending[Guid.NewGuid()] = reply;
            return await reply.Task;
        }
    }
}
