// patient:  stuck-tasks
// kind:     illness
// illness:  fifty orders wait, four awaits deep, for a warehouse reply that no one will ever deliver
// finding:  stuck-tasks
// culprit:  Fulfilment.WarehouseLink.AwaitReplyAsync
// runtimes: 3.1 8 9 10
// No thread is blocked: the waiting is only in the state machines on the heap.

using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Patients;

namespace Fulfilment
{
    [Patient("stuck-tasks")]
    internal static class OrderDesk
    {
        private static List<Task> s_open;

        private static void Run(PatientArguments args)
        {
            var orders = args.Int("count", 50);
            var link = new WarehouseLink();
            var flow = new OrderFlow(link);
            s_open = Enumerable.Range(1, orders).Select(flow.FulfilAsync).ToList<Task>();

            while (link.Waiting < orders)
            {
                Thread.Sleep(10);
            }

            var churn = args.Int("churn", 0); // collections in milliseconds, which move everything
            if (churn > 0)
            {
                new Thread(() => Churn(churn)) { IsBackground = true, Name = "churn" }.Start();
            }

            Patient.Ready();
        }

        private static void Churn(int pause)
        {
            while (true)
            {
                var rubbish = Enumerable.Range(0, 1000).Select(size => new byte[size]).ToList();
                GC.Collect();
                GC.KeepAlive(rubbish);
                Thread.Sleep(pause);
            }
        }
    }

    internal sealed class OrderFlow
    {
        private readonly WarehouseLink _link;

        public OrderFlow(WarehouseLink link) => _link = link;

        public async Task<string> FulfilAsync(int order)
        {
            var shelf = await ReserveAsync(order);
            return $"order {order} leaves from {shelf}";
        }

        private async Task<string> ReserveAsync(int order)
        {
            await Task.Delay(20); // the order is written to the journal first
            var reply = await ConfirmStockAsync(order);
            return reply.ToUpperInvariant();
        }

        private async Task<string> ConfirmStockAsync(int order)
        {
            var reply = await _link.AwaitReplyAsync(order);
            return reply.Trim();
        }
    }

    internal sealed class WarehouseLink
    {
        private readonly ConcurrentDictionary<int, TaskCompletionSource<string>> _pending =
            new ConcurrentDictionary<int, TaskCompletionSource<string>>();

        public int Waiting => _pending.Count;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public async Task<string> AwaitReplyAsync(int correlation)
        {
            var reply = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
            _pending[correlation] = reply;
            return await reply.Task;
        }

        /// <summary>Replies come with the warehouse's own numbers, so none ever finds the order it belongs to.</summary>
        public void OnReply(int correlation, string shelf)
        {
            if (_pending.TryRemove(-correlation, out var reply))
            {
                reply.SetResult(shelf);
            }
        }
    }
}
