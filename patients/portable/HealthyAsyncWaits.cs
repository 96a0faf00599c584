// patient:  healthy-async-waits
// kind:     control
// illness:  none: a service that awaits what services await: time, connections, a channel, a signal, its own end
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10

using System;
using System.Collections.Generic;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Threading;
using System.Threading.Channels;
using System.Threading.Tasks;
using System.Threading.Tasks.Sources;
using Patients;

namespace Depot
{
    [Patient("healthy-async-waits")]
    internal static class Service
    {
        private static readonly TaskCompletionSource<bool> s_end = new TaskCompletionSource<bool>();
        private static readonly Channel<string> s_jobs = Channel.CreateUnbounded<string>();
        private static readonly SemaphoreSlim s_signal = new SemaphoreSlim(0);
        private static readonly Bell s_bell = new Bell();
        private static readonly CountdownEvent s_begun = new CountdownEvent(2); // those that begin on other threads
        private static List<Task> s_all;

        private static void Run(PatientArguments args)
        {
            var timers = args.Int("timers", 30);
            s_all = Enumerable.Range(0, timers).Select(RemindAsync).ToList();
            s_all.Add(AcceptAsync());
            s_all.Add(WorkAsync());
            s_all.Add(ListenAsync());
            s_all.Add(AnswerAsync());
            s_all.Add(WatchAsync());
            s_all.Add(Task.Run(() => BothAsync()));
            s_all.Add(EndAsync());
            s_begun.Wait();
            Patient.Ready();
        }

        private static async Task RemindAsync(int number)
        {
            while (number >= 0)
            {
                await Task.Delay(TimeSpan.FromMinutes(10));
            }
        }

        private static async Task AcceptAsync()
        {
            var listener = new TcpListener(IPAddress.Loopback, 0);
            listener.Start();
            var client = new TcpClient();
            await client.ConnectAsync(IPAddress.Loopback, ((IPEndPoint)listener.LocalEndpoint).Port);
            var server = await listener.AcceptTcpClientAsync();
            var buffer = new byte[16];
            s_begun.Signal();
            await server.GetStream().ReadAsync(buffer.AsMemory());
            client.Dispose();
        }

        private static async Task WorkAsync()
        {
            while (await s_jobs.Reader.WaitToReadAsync())
            {
                s_jobs.Reader.TryRead(out _);
            }
        }

        private static async Task ListenAsync()
        {
            await s_signal.WaitAsync();
            await EndAsync();
        }

        private static async Task AnswerAsync()
        {
            await s_bell.RingAsync();
            await EndAsync();
        }

        private static async Task WatchAsync()
        {
            await foreach (var number in NumbersAsync())
            {
                if (number > 3)
                {
                    break;
                }
            }
        }

        /// <summary>The state machine of an iterator is a class.</summary>
        private static async IAsyncEnumerable<int> NumbersAsync()
        {
            for (var number = 0; ; number++)
            {
                await Task.Delay(TimeSpan.FromMinutes(10));
                yield return number;
            }
        }

        private static async Task BothAsync()
        {
            s_begun.Signal();
            await Task.WhenAll(RemindAsync(1), Task.WhenAny(RemindAsync(2), s_end.Task));
        }

        private static async Task EndAsync() => await s_end.Task.ConfigureAwait(false);
    }

    /// <summary>A source of a ValueTask that never has a result.</summary>
    internal sealed class Bell : IValueTaskSource
    {
        private ManualResetValueTaskSourceCore<bool> _core;

        public ValueTask RingAsync() => new ValueTask(this, _core.Version);

        public void GetResult(short token) => _core.GetResult(token);

        public ValueTaskSourceStatus GetStatus(short token) => _core.GetStatus(token);

        public void OnCompleted(
            Action<object> continuation, object state, short token, ValueTaskSourceOnCompletedFlags flags) =>
            _core.OnCompleted(continuation, state, token, flags);
    }
}
