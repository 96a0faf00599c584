// patient:  slow-database
// kind:     illness
// illness:  every search in the warehouse is a database command of a second and a half
// finding:  slow-dependency
// culprit:  Depot.Shelves.FindAsync
// runtimes: 3.1 8 9 10
// Arguments: milliseconds of a command, clients, and fails (1: every command fails, quickly if milliseconds says so).

using System;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Data.SqlClient;
using Patients;

namespace Depot
{
    [Patient("slow-database")]
    internal static class Warehouse
    {
        private static Task[] s_workers;

        private static void Run(PatientArguments args)
        {
            var shelves = new Shelves(args.Int("milliseconds", 1500), args.Int("fails", 0) == 1);
            s_workers = Enumerable.Range(1, args.Int("clients", 4)).Select(_ => SearchForEverAsync(shelves)).ToArray();
            while (shelves.Searches == 0)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        private static async Task SearchForEverAsync(Shelves shelves)
        {
            while (true)
            {
                await shelves.FindAsync();
                await Task.Delay(20);
            }
        }
    }

    internal sealed class Shelves
    {
        private readonly SqlConnection _connection = new SqlConnection("db.depot.example,1433", "Warehouse");
        private readonly int _milliseconds;
        private readonly bool _fails;
        private int _searches;

        public Shelves(int milliseconds, bool fails) => (_milliseconds, _fails) = (milliseconds, fails);

        public int Searches => Volatile.Read(ref _searches);

        [MethodImpl(MethodImplOptions.NoInlining)]
        public async Task<int> FindAsync()
        {
            using var command = new SqlCommand
            {
                Connection = _connection,
                CommandText = "SELECT COUNT(*)\n  FROM dbo.Shelves\n WHERE Label LIKE '%bolt%'",
                Milliseconds = _milliseconds,
                Fails = _fails,
            };
            try
            {
                return (int)await command.ExecuteScalarAsync();
            }
            catch (InvalidOperationException)
            {
                return 0; // the page then shows nothing
            }
            finally
            {
                Interlocked.Increment(ref _searches);
            }
        }
    }
}
