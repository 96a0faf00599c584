// patient:  healthy-warm-cache
// kind:     control
// illness:  a cache that is full: what comes in pushes something out
// finding:  none
// culprit:  none
// runtimes: 3.1 8 9 10

using System.Collections.Generic;
using Patients;

namespace Library
{
    [Patient("healthy-warm-cache")]
    internal static class Desk
    {
        private const int MostBooks = 2000;
        private const int BytesOfABook = 8 * 1024;

        private static readonly Dictionary<int, byte[]> s_books = new Dictionary<int, byte[]>();
        private static readonly Queue<int> s_order = new Queue<int>();
        private static int s_next;

        private static void Run(PatientArguments args)
        {
            while (s_books.Count < MostBooks)
            {
                Fetch();
            }

            Background.StartPaced("lender", 500, long.MaxValue, Fetch);
            Patient.Ready();
        }

        private static void Fetch()
        {
            if (s_order.Count == MostBooks)
            {
                s_books.Remove(s_order.Dequeue());
            }

            s_books.Add(s_next, new byte[BytesOfABook]);
            s_order.Enqueue(s_next++);
        }
    }
}
