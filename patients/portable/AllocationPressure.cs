// patient:  allocation-pressure
// kind:     illness
// illness:  pages are built from small objects that live just long enough to be promoted, so the collector works all the time
// finding:  allocation-pressure
// culprit:  Rendering.PageBuilder.Compose
// runtimes: 3.1 8 9 10
// A window of recent pages keeps every object alive through one or two collections and then
// drops it: the worst age to die at.

using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Rendering
{
    [Patient("allocation-pressure")]
    internal static class Renderer
    {
        private static int s_pages;

        private static void Run(PatientArguments args)
        {
            var window = args.Int("window", 4000);
            Background.Start("renderer", () => RenderForEver(window));
            while (Volatile.Read(ref s_pages) < window)
            {
                Thread.Sleep(10);
            }

            Patient.Ready();
        }

        private static void RenderForEver(int window)
        {
            var recent = new Queue<Element>();
            while (true)
            {
                recent.Enqueue(PageBuilder.Compose(s_pages));
                if (recent.Count > window)
                {
                    recent.Dequeue();
                }

                s_pages++;
                Work.Done();
            }
        }
    }

    internal sealed class Element
    {
        public string Text;
        public Element Next;
        public Element FirstChild;
    }

    internal static class PageBuilder
    {
        private const int Rows = 60;
        private const int Cells = 6;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Element Compose(int page)
        {
            var root = new Element();
            for (var row = 0; row < Rows; row++)
            {
                var line = new Element { Next = root.FirstChild };
                root.FirstChild = line;
                for (var cell = 0; cell < Cells; cell++)
                {
                    line.FirstChild = new Element { Text = new string('x', 12), Next = line.FirstChild };
                }
            }

            return root;
        }
    }
}
