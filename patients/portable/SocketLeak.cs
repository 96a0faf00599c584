// patient:  socket-leak
// kind:     illness
// illness:  each rate inquiry opens a connection and never closes it, though the bank on the other side has
// finding:  descriptor-leak
// culprit:  Exchange.RateClient.Ask
// runtimes: 3.1 8 9 10
// Arguments: rate (inquiries per second) and cap (connections). A logger beside it opens a file twice as often, and closes it.

using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using Patients;

namespace Exchange
{
    [Patient("socket-leak")]
    internal static class Desk
    {
        private static void Run(PatientArguments args)
        {
            var rate = args.Int("rate", 20);
            var cap = args.Int("cap", 3000);
            var bank = new Bank();
            var client = new RateClient(bank.Port);
            var journal = new Journal(typeof(Desk).Assembly.Location);
            client.Ask();
            journal.Check();
            Background.StartPaced("rate-inquiries", rate, cap, client.Ask);
            Background.StartPaced("journal", 2 * rate, long.MaxValue, journal.Check);
            Patient.Ready();
        }
    }

    /// <summary>Answers with one byte, and closes.</summary>
    internal sealed class Bank
    {
        private readonly TcpListener _listener = new TcpListener(IPAddress.Loopback, 0);

        public Bank()
        {
            _listener.Start();
            Background.Start("bank", Serve);
        }

        public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

        private void Serve()
        {
            while (true)
            {
                using (var connection = _listener.AcceptTcpClient())
                {
                    connection.GetStream().WriteByte(42);
                }
            }
        }
    }

    internal sealed class RateClient
    {
        private readonly int _port;
        private readonly List<TcpClient> _recent = new List<TcpClient>();

        public RateClient(int port) => _port = port;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Ask()
        {
            var connection = new TcpClient("127.0.0.1", _port);
            connection.GetStream().ReadByte();
            _recent.Add(connection); // "the next inquiry may use it"
        }
    }

    internal sealed class Journal
    {
        private readonly string _path;

        /// <param name="path">Any file that can be read stands for the journal.</param>
        public Journal(string path) => _path = path;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Check()
        {
            using (var file = new FileStream(_path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite, bufferSize: 1))
            {
                file.ReadByte();
            }
        }
    }
}
