// patient:  lock-held-in-wait
// kind:     illness
// illness:  a thread holds a lock while it waits for ever for a printer's answer, and two others wait for the lock
// finding:  lock-held-in-wait
// culprit:  Printing.Spooler.Print
// runtimes: 3.1 8 9 10
// There is no ring: the thread that holds the lock waits for no lock, but for an event that nobody sets.

using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Printing
{
    [Patient("lock-held-in-wait")]
    internal static class Office
    {
        private static void Run(PatientArguments args)
        {
            var spooler = new Spooler();
            var printing = Background.Start("print-job", () => spooler.Print("invoice"));
            Background.WaitUntilBlocked(printing);

            var first = Background.Start("front-desk", () => spooler.Enqueue("label"));
            var second = Background.Start("back-office", () => spooler.Enqueue("letter"));
            Background.WaitUntilBlocked(printing, first, second);
            Patient.Ready();
        }
    }

    internal sealed class Spooler
    {
        private static readonly object s_queue = new object();

        private readonly ManualResetEventSlim _printed = new ManualResetEventSlim();
        private string _last = "";

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Print(string document)
        {
            lock (s_queue)
            {
                _last = document;
                _printed.Wait();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Enqueue(string document)
        {
            lock (s_queue)
            {
                _last = document;
            }
        }
    }
}
