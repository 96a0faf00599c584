// patient:  unbounded-cache-duplicate-strings
// kind:     illness
// illness:  a cache without a bound holds a fresh copy of the same few city and country names in each entry
// finding:  duplicate-strings
// culprit:  Geo.AddressCache.Add, Geo.AddressCache.s_entries
// runtimes: 3.1 8 9 10
// It is a memory leak as well. Arguments: rate (MB per second) and cap (MB).

using System.Collections.Generic;
using System.Runtime.CompilerServices;
using Patients;

namespace Geo
{
    [Patient("unbounded-cache-duplicate-strings")]
    internal static class Geocoder
    {
        private static readonly string[] s_places =
        {
            "Hamburg;Freie und Hansestadt Hamburg;Germany",
            "Lyon;Auvergne-Rhone-Alpes;France",
            "Porto;Norte;Portugal",
            "Santa Cruz de Tenerife;Canarias;Spain",
        };

        private static int s_number;

        private static void Run(PatientArguments args)
        {
            Growth.Start("geocoder", args, Address.ApproximateBytes, LookUpNext);
            Patient.Ready();
        }

        private static void LookUpNext()
        {
            var number = ++s_number;
            AddressCache.Add($"parcel {number}", s_places[number % s_places.Length]);
        }
    }

    internal sealed class Address
    {
        public const int ApproximateBytes = 360;

        public Address(string city, string region, string country)
        {
            City = city;
            Region = region;
            Country = country;
        }

        public string City { get; }

        public string Region { get; }

        public string Country { get; }
    }

    internal static class AddressCache
    {
        private static readonly Dictionary<string, Address> s_entries = new Dictionary<string, Address>();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Add(string parcel, string place)
        {
            var parts = place.Split(';'); // new strings, each time
            s_entries[parcel] = new Address(parts[0], parts[1], parts[2]);
        }
    }
}
