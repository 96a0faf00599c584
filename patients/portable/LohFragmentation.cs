// patient:  loh-fragmentation
// kind:     illness
// illness:  every second of many large arrays is kept, so the large object heap is half holes that fit nothing
// finding:  loh-fragmentation
// culprit:  Imaging.ThumbnailStore.Import
// runtimes: 3.1 8 9 10
// Each download is a little larger than the one before it and smaller than the picture made of
// it, so the hole it leaves is never large enough for anything that comes later.
// Arguments: rate (pictures per second) and cap (MB kept).

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using Patients;

namespace Imaging
{
    [Patient("loh-fragmentation")]
    internal static class Gallery
    {
        private const long HolesAtStart = 100L * 1024 * 1024;

        private static void Run(PatientArguments args)
        {
            var rate = args.Int("rate", 5);
            var store = new ThumbnailStore(capBytes: args.Int("cap", 600) * 1024L * 1024);

            // The holes of the first pictures appear with a full collection. This forced one is
            // only staging; the patient does not go on collecting by itself.
            do
            {
                for (var i = 0; i < 200; i++)
                {
                    store.Import();
                }

                GC.Collect();
            }
            while (GC.GetGCMemoryInfo().FragmentedBytes < HolesAtStart);

            Background.StartPaced("picture-import", rate, long.MaxValue, store.Import);
            Patient.Ready();
        }
    }

    internal sealed class ThumbnailStore
    {
        private const int SmallestDownload = 128 * 1024;

        private readonly List<byte[]> _pictures = new List<byte[]>();
        private readonly long _capBytes;
        private long _keptBytes;

        public ThumbnailStore(long capBytes) => _capBytes = capBytes;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Import()
        {
            if (_keptBytes >= _capBytes)
            {
                return;
            }

            var download = new byte[SmallestDownload + _pictures.Count * 512];
            var picture = new byte[download.Length / 4 * 5];
            Array.Copy(download, picture, download.Length);
            _pictures.Add(picture);
            _keptBytes += picture.Length;
        }
    }
}
