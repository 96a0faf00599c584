// patient:  healthy-pipeline
// kind:     control
// illness:  none: readings pass through a bounded channel and two async streams to a board, in C# 12
// finding:  none
// culprit:  none
// runtimes: 9 10
// Most of its operations wait most of the time, and each of them goes on again and again.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Channels;
using System.Threading.Tasks;
using Patients;

namespace Harbour.Gauges
{
    internal readonly record struct Reading(string Gauge, double Level, DateTime At);

    /// <summary>The levels of the tide, one after the other.</summary>
    internal sealed class Gauge(string name, TimeSpan pause)
    {
        private readonly double[] _tide = [0.4, 1.1, 2.3, 3.0, 2.2, 1.0];

        public async IAsyncEnumerable<Reading> ReadAsync([EnumeratorCancellation] CancellationToken stop)
        {
            for (var number = 0; !stop.IsCancellationRequested; number++)
            {
                await Task.Delay(pause, stop);
                yield return new Reading(name, _tide[number % _tide.Length], DateTime.UtcNow);
            }
        }
    }

    /// <summary>The last level of every gauge.</summary>
    internal sealed class Board(int warnAt)
    {
        private readonly Dictionary<string, Reading> _latest = [];

        public int Shown { get; private set; }

        public int Warnings { get; private set; }

        public void Show(Reading reading)
        {
            _latest[reading.Gauge] = reading;
            Warnings += reading is { Level: var level } && level > warnAt ? 1 : 0;
            Shown++;
            Work.Done();
        }
    }

    [Patient("healthy-pipeline")]
    internal static class Harbour
    {
        private static Task[] s_tasks = [];

        private static void Run(PatientArguments args)
        {
            var channel = Channel.CreateBounded<Reading>(16);
            var board = new Board(warnAt: 2);
            Gauge[] gauges = [.. Enumerable.Range(1, args.Int("gauges", 4)).Select(Make)];
            s_tasks = [.. gauges.Select(gauge => ForwardAsync(gauge, channel.Writer)), ShowAsync(channel.Reader, board)];
            while (board.Shown < 10)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        private static Gauge Make(int number) => new($"gauge-{number}", TimeSpan.FromMilliseconds(20 + number));

        private static async Task ForwardAsync(Gauge gauge, ChannelWriter<Reading> to)
        {
            await foreach (var reading in gauge.ReadAsync(CancellationToken.None))
            {
                await to.WriteAsync(reading);
            }
        }

        private static async Task ShowAsync(ChannelReader<Reading> from, Board board)
        {
            await foreach (var reading in from.ReadAllAsync())
            {
                board.Show(reading);
            }
        }
    }
}
