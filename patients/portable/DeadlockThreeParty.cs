// patient:  deadlock-three-party
// kind:     illness
// illness:  three threads wait in a ring, each for the lock that the next one holds
// finding:  deadlock
// culprit:  Logistics.Depot.MoveTo
// runtimes: 3.1 8 9 10
// No two of the threads are in each other's way: only the ring of three is closed.

using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Logistics
{
    [Patient("deadlock-three-party")]
    internal static class Fleet
    {
        private static void Run(PatientArguments args)
        {
            var allLoaded = new Barrier(3);
            var hamburg = new Depot("Hamburg", allLoaded);
            var lyon = new Depot("Lyon", allLoaded);
            var porto = new Depot("Porto", allLoaded);

            var drivers = new[]
            {
                Background.Start("truck-north", () => hamburg.MoveTo(lyon, 12)),
                Background.Start("truck-south", () => lyon.MoveTo(porto, 7)),
                Background.Start("truck-west", () => porto.MoveTo(hamburg, 3)),
            };

            while (Depot.Loadings < drivers.Length)
            {
                Thread.Sleep(1);
            }

            Background.WaitUntilBlocked(drivers);
            Patient.Ready();
        }
    }

    internal sealed class Depot
    {
        private static int s_loadings;

        private readonly object _gate = new object();
        private readonly Barrier _allLoaded;
        private int _pallets = 100;

        public Depot(string city, Barrier allLoaded)
        {
            City = city;
            _allLoaded = allLoaded;
        }

        public static int Loadings => Volatile.Read(ref s_loadings);

        public string City { get; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void MoveTo(Depot destination, int pallets)
        {
            lock (_gate)
            {
                _pallets -= pallets;
                _allLoaded.SignalAndWait();
                Interlocked.Increment(ref s_loadings);
                lock (destination._gate)
                {
                    destination._pallets += pallets;
                }
            }
        }
    }
}
