// patient:  orphaned-lock
// kind:     illness
// illness:  a thread took a lock and ended by an exception without giving it back, so two others wait for it for ever
// finding:  orphaned-lock
// culprit:  Imports.Catalogue.Reload
// runtimes: 3.1 8 9 10
// Enter and Exit are called by hand, without try and finally, which is what the lock statement is for.

using System;
using System.IO;
using System.Runtime.CompilerServices;
using System.Threading;
using Patients;

namespace Imports
{
    [Patient("orphaned-lock")]
    internal static class NightlyImport
    {
        private static void Run(PatientArguments args)
        {
            var catalogue = new Catalogue();
            var importer = Background.Start("importer", () =>
            {
                try
                {
                    catalogue.Replace(new StringReader("4711;bolt\n4712"));
                }
                catch (FormatException)
                {
                    // logged, and the import is tried again tomorrow
                }
            });
            importer.Join();

            var first = Background.Start("reload-1", () => catalogue.Reload());
            var second = Background.Start("reload-2", () => catalogue.Reload());
            Background.WaitUntilBlocked(first, second);
            Patient.Ready();
        }
    }

    internal sealed class Catalogue
    {
        private readonly object _gate = new object();
        private int _articles;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Replace(TextReader lines)
        {
            Monitor.Enter(_gate);
            _articles = 0;
            for (var line = lines.ReadLine(); line != null; line = lines.ReadLine())
            {
                if (line.Split(';').Length != 2)
                {
                    throw new FormatException(line);
                }

                _articles++;
            }

            Monitor.Exit(_gate);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Reload()
        {
            lock (_gate)
            {
                return _articles;
            }
        }
    }
}
