// patient:  descriptor-leak
// kind:     illness
// illness:  each document read leaves its file open
// finding:  descriptor-leak
// culprit:  Archive.DocumentStore.Open
// runtimes: 3.1 8 9 10
// Arguments: rate (files per second) and cap (files).

using System.Collections.Generic;
using System.IO;
using System.Runtime.CompilerServices;
using Patients;

namespace Archive
{
    [Patient("descriptor-leak")]
    internal static class Library
    {
        private const int FilesAtStart = 200;

        private static void Run(PatientArguments args)
        {
            var rate = args.Int("rate", 20);
            var cap = args.Int("cap", 3000);
            var store = new DocumentStore(typeof(Library).Assembly.Location);
            for (var i = 0; i < FilesAtStart; i++)
            {
                store.Open();
            }

            Background.StartPaced("document-reader", rate, cap - FilesAtStart, store.Open);
            Patient.Ready();
        }
    }

    internal sealed class DocumentStore
    {
        private readonly string _path;
        private readonly List<FileStream> _recent = new List<FileStream>();

        /// <param name="path">Any file that can be read stands for the documents.</param>
        public DocumentStore(string path) => _path = path;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Open()
        {
            var document = new FileStream(_path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite, bufferSize: 1);
            document.ReadByte();
            _recent.Add(document); // meant to be closed "later"
        }
    }
}
