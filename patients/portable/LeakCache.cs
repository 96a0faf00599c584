// patient:  leak-cache
// kind:     illness
// illness:  a cache is keyed by the time of the request, so nothing in it is ever found again, and nothing leaves it
// finding:  cache-growth
// culprit:  Maps.TileCache.Get, Maps.TileCache._tiles
// runtimes: 3.1 8 9 10
// Arguments: rate (MB per second) and cap (MB).

using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using Patients;

namespace Maps
{
    [Patient("leak-cache")]
    internal static class Atlas
    {
        private static readonly TileCache s_cache = new TileCache();
        private static long s_tick;

        private static void Run(PatientArguments args)
        {
            Growth.Start("map-reader", args, Tile.ApproximateBytes, () => s_cache.Get($"tile 4/7 at {s_tick++}"));
            Patient.Ready();
        }
    }

    internal sealed class Tile
    {
        public const int ApproximateBytes = 8 * 1024;

        private readonly byte[] _pixels = new byte[ApproximateBytes];

        public int Length => _pixels.Length;
    }

    internal sealed class TileCache
    {
        private readonly ConcurrentDictionary<string, Tile> _tiles = new ConcurrentDictionary<string, Tile>();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public Tile Get(string key) => _tiles.GetOrAdd(key, _ => new Tile());
    }
}
