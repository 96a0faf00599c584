// patient:  leak-closures
// kind:     illness
// illness:  callbacks that have run stay in a list, each with the page that its lambda captured
// finding:  closure-leak
// culprit:  Newspaper.Printer.Enqueue, Newspaper.Printer._callbacks
// runtimes: 3.1 8 9 10
// Arguments: rate (MB per second) and cap (MB).

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using Patients;

namespace Newspaper
{
    [Patient("leak-closures")]
    internal static class Newsroom
    {
        private static readonly Printer s_printer = new Printer();

        private static void Run(PatientArguments args)
        {
            Growth.Start("page-setter", args, Page.ApproximateBytes, Set);
            Patient.Ready();
        }

        private static void Set()
        {
            var page = new Page();
            s_printer.Enqueue(() => page.Printed = true);
        }
    }

    internal sealed class Page
    {
        public const int ApproximateBytes = 8 * 1024;

        private readonly byte[] _columns = new byte[ApproximateBytes];

        public bool Printed { get; set; }

        public int Length => _columns.Length;
    }

    internal sealed class Printer
    {
        private readonly List<Action> _callbacks = new List<Action>();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Enqueue(Action whenPrinted)
        {
            _callbacks.Add(whenPrinted);
            whenPrinted(); // and here it should be taken out again
        }
    }
}
