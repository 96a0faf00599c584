// patient:  pinned-buffers
// kind:     illness
// illness:  thousands of receive buffers, scattered over the heap, stay pinned, so the collector cannot close the gaps between them
// finding:  pinning
// culprit:  Messaging.Connection.Open, Messaging.Connection
// runtimes: 3.1 8 9 10
// .NET 10 leaves regions with pinned objects in generation 0, and the next allocations fill their gaps, so there it takes more
// of them. Argument: count (connections).

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using Patients;

namespace Messaging
{
    [Patient("pinned-buffers")]
    internal static class Broker
    {
        private const int MessagesPerConnection = 40;

        private static readonly Queue<Connection> s_connections = new Queue<Connection>();
        private static int s_opened;

        private static void Run(PatientArguments args)
        {
            var connections = args.Int("count", Environment.Version.Major >= 10 ? 20_000 : 3000);
            Background.StartPaced("connections", perSecond: 2000, long.MaxValue, () => TurnOver(connections));
            while (Volatile.Read(ref s_opened) < connections)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        /// <summary>Opens a connection, reads messages, closes the oldest connection: some are pinned in each generation.</summary>
        private static void TurnOver(int connections)
        {
            s_connections.Enqueue(Connection.Open());
            if (s_connections.Count > connections)
            {
                s_connections.Dequeue().Close();
            }

            for (var i = 0; i < MessagesPerConnection; i++)
            {
                GC.KeepAlive(new byte[512]);
            }

            s_opened++;
        }
    }

    internal sealed class Connection
    {
        private GCHandle _pin;

        /// <summary>Pins the buffer for as long as the connection lives, not only while a read is under way.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Connection Open() => new Connection { _pin = GCHandle.Alloc(new byte[4096], GCHandleType.Pinned) };

        public void Close() => _pin.Free();
    }
}
