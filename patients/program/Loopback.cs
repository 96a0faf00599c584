using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Patients
{
    /// <summary>
    /// A small HTTP/1.1 server on a free loopback port; what it runs for a request, it runs on pool threads.
    /// It stands in for HttpListener, which needs OpenSSL 1 on .NET Core 3.1 and hangs up on every hundredth request.
    /// </summary>
    internal sealed class LoopbackServer
    {
        /// <summary>The answer of a route that cannot serve now: 503.</summary>
        public const string Unavailable = "\0unavailable";

        private const int LongestRequest = 8 * 1024;

        private readonly IReadOnlyDictionary<string, Func<Task<string>>> _routes;
        private readonly TcpListener _listener = new TcpListener(IPAddress.Loopback, 0);

        /// <param name="routes">What answers each path. A synchronous handler holds its pool thread for as long as it runs.</param>
        public LoopbackServer(IReadOnlyDictionary<string, Func<Task<string>>> routes)
        {
            _routes = routes;
            _listener.Start();
            Background.Start("http-accept", AcceptConnections);
        }

        public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

        private void AcceptConnections()
        {
            while (true)
            {
                var connection = _listener.AcceptTcpClient();
                Task.Run(() => ServeAsync(connection));
            }
        }

        private async Task ServeAsync(TcpClient connection)
        {
            using (connection)
            {
                connection.NoDelay = true;
                var stream = connection.GetStream();
                var buffer = new byte[LongestRequest];
                try
                {
                    while (await ReadPathAsync(stream, buffer) is string path)
                    {
                        var answer = await AnswerAsync(path);
                        await stream.WriteAsync(answer, 0, answer.Length);
                    }
                }
                catch (IOException)
                {
                    // The client hung up.
                }
            }
        }

        /// <summary>The path of the next request, or null when there is none. Clients send one request at a time, without a body.</summary>
        private static async Task<string> ReadPathAsync(NetworkStream stream, byte[] buffer)
        {
            var received = 0;
            while (Http.HeaderLength(buffer, received) < 0)
            {
                var count = received < buffer.Length ? await stream.ReadAsync(buffer, received, buffer.Length - received) : 0;
                if (count == 0)
                {
                    return null;
                }

                received += count;
            }

            return Encoding.ASCII.GetString(buffer, 0, received).Split(' ')[1];
        }

        private async Task<byte[]> AnswerAsync(string path)
        {
            var found = _routes.TryGetValue(path, out var route);
            var body = found ? await route() : "";
            var status = found ? "200 OK" : "404 Not Found";
            if (body == Unavailable)
            {
                (body, status) = ("", "503 Service Unavailable");
            }

            return Encoding.UTF8.GetBytes(
                $"HTTP/1.1 {status}\r\nContent-Length: {Encoding.UTF8.GetByteCount(body)}\r\n\r\n{body}");
        }
    }

    internal static class Http
    {
        /// <summary>How many bytes the header takes with the empty line that ends it, or -1 while that line is missing.</summary>
        public static int HeaderLength(byte[] buffer, int received)
        {
            ReadOnlySpan<byte> end = new[] { (byte)'\r', (byte)'\n', (byte)'\r', (byte)'\n' };
            var at = buffer.AsSpan(0, received).IndexOf(end);
            return at < 0 ? -1 : at + end.Length;
        }
    }

    /// <summary>
    /// HTTP clients on threads of their own that use nothing but blocking sockets:
    /// neither the thread pool nor a task is touched, so they add nothing to the patient's illness.
    /// </summary>
    internal static class LoopbackClients
    {
        /// <summary>Starts clients that ask for <paramref name="path"/> for ever; returns once each has had an answer.</summary>
        public static void Start(string name, int count, int port, string path, int pauseMilliseconds = 0)
        {
            var answered = new CountdownEvent(count);
            foreach (var number in Enumerable.Range(1, count))
            {
                Background.Start($"{name}-{number}", () => Drive(new LoopbackClient(port), path, pauseMilliseconds, answered));
            }

            answered.Wait();
        }

        private static void Drive(LoopbackClient client, string path, int pauseMilliseconds, CountdownEvent answered)
        {
            client.Get(path);
            answered.Signal();
            while (true)
            {
                Thread.Sleep(pauseMilliseconds);
                client.Get(path);
                Work.Done();
            }
        }
    }

    /// <summary>One kept-alive HTTP/1.1 connection. Understands what the patients' servers answer: 200 with a Content-Length.</summary>
    internal sealed class LoopbackClient
    {
        private const string LengthHeader = "\r\nContent-Length: ";

        private readonly Socket _socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        private readonly byte[] _buffer = new byte[64 * 1024];

        public LoopbackClient(int port) => _socket.Connect(new IPEndPoint(IPAddress.Loopback, port));

        public void Get(string path)
        {
            _socket.Send(Encoding.ASCII.GetBytes($"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));

            int received = 0, headerLength;
            while ((headerLength = Http.HeaderLength(_buffer, received)) < 0)
            {
                received += Receive(received);
            }

            var expected = headerLength + ContentLength(Encoding.ASCII.GetString(_buffer, 0, headerLength));
            while (received < expected)
            {
                received += Receive(received);
            }
        }

        private static int ContentLength(string header)
        {
            var at = header.IndexOf(LengthHeader, StringComparison.OrdinalIgnoreCase);
            if (at < 0 || !header.StartsWith("HTTP/1.1 200 ", StringComparison.Ordinal))
            {
                throw new InvalidOperationException($"unexpected answer: {header}");
            }

            var start = at + LengthHeader.Length;
            return int.Parse(header.Substring(start, header.IndexOf('\r', start) - start));
        }

        private int Receive(int offset)
        {
            var count = _socket.Receive(_buffer, offset, _buffer.Length - offset, SocketFlags.None);
            return count > 0 ? count : throw new InvalidOperationException("the server hung up in the middle of an answer");
        }
    }

    /// <summary>The CPU time used by the calling thread, which a wait for a free core does not count in.</summary>
    internal static class CpuClock
    {
        private const int ThreadCpuTime = 3; // CLOCK_THREAD_CPUTIME_ID of Linux

        public static double Milliseconds
        {
            get
            {
                if (clock_gettime(ThreadCpuTime, out var time) != 0)
                {
                    throw new PlatformNotSupportedException("no CPU clock for threads");
                }

                return time.Seconds * 1e3 + time.Nanoseconds / 1e6;
            }
        }

        [DllImport("libc")]
        private static extern int clock_gettime(int clock, out TimeSpec time);

        [StructLayout(LayoutKind.Sequential)]
        private struct TimeSpec
        {
            public IntPtr SecondsField;
            public IntPtr NanosecondsField;

            public long Seconds => (long)SecondsField;

            public long Nanoseconds => (long)NanosecondsField;
        }
    }
}
