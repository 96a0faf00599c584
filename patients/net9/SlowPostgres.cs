// patient:  slow-postgres
// kind:     illness
// illness:  every booking waits a second and a half for a row lock in the database
// finding:  slow-dependency
// culprit:  Ferry.Decks.ReserveAsync
// runtimes: 9 10
// The client has no DiagnosticListener but an ActivitySource, as that of PostgreSQL does.

using System.Diagnostics;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Npgsql;
using Patients;

namespace Ferry
{
    [Patient("slow-postgres")]
    internal static class Bookings
    {
        private static Task[] s_workers;

        private static void Run(PatientArguments args)
        {
            var decks = new Decks(args.Int("milliseconds", 1500));
            s_workers = Enumerable.Range(1, args.Int("clients", 3)).Select(_ => BookForEverAsync(decks)).ToArray();
            while (decks.Reserved == 0)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        private static async Task BookForEverAsync(Decks decks)
        {
            while (true)
            {
                await decks.ReserveAsync();
            }
        }
    }

    internal sealed class Decks
    {
        private readonly int _milliseconds;
        private int _reserved;

        public Decks(int milliseconds) => _milliseconds = milliseconds;

        public int Reserved => Volatile.Read(ref _reserved);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public async Task ReserveAsync()
        {
            await new NpgsqlCommand("update deck set free = free - 1 where id = $1", _milliseconds).ExecuteNonQueryAsync();
            Interlocked.Increment(ref _reserved);
        }
    }
}

// A stand-in: the activities have the source, the names and the tags that Npgsql 10 gives them; Npgsql 7 to 9 use the older names of the tags.
namespace Npgsql
{
    internal sealed class NpgsqlCommand
    {
        private static readonly ActivitySource s_source = new ActivitySource("Npgsql", "10.0.0");

        private readonly string _text;
        private readonly int _milliseconds;

        public NpgsqlCommand(string text, int milliseconds) => (_text, _milliseconds) = (text, milliseconds);

        public async Task<int> ExecuteNonQueryAsync()
        {
            var activity = s_source.StartActivity("postgresql", ActivityKind.Client);
            if (activity != null && activity.IsAllDataRequested)
            {
                activity.SetTag("db.query.text", _text);
                activity.SetTag("db.system.name", "postgresql");
                activity.SetTag("db.namespace", "ferry");
                activity.SetTag("server.address", "pg.ferry.example");
            }

            await Task.Delay(_milliseconds).ConfigureAwait(false);
            activity?.Dispose();
            return 1;
        }
    }
}
