//! Well-known providers, for those who do not know what to ask for.

/// An event source or meter of .NET itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub provider: &'static str,
    /// Which kind, since which version.
    pub kind: &'static str,
    /// What it counts.
    pub what: &'static str,
}

/// Well-known providers.
pub const KNOWN: &[Known] = &[
    known(
        "System.Runtime",
        "meter 9+, EventCounters 3.0+",
        "CPU, memory, collections, JIT, thread pool, exceptions",
    ),
    known("System.Net.Http", "meter 8+, EventCounters 5+", "outgoing requests, connections, time in queue"),
    known("System.Net.NameResolution", "meter 8+, EventCounters 5+", "DNS lookups and their duration"),
    known("System.Net.Security", "EventCounters 5+", "TLS handshakes and sessions"),
    known("System.Net.Sockets", "EventCounters 5+", "connections and bytes of sockets"),
    known(
        "Microsoft.AspNetCore.Hosting",
        "meter 8+, EventCounters 3.0+",
        "incoming requests: rate, current, failed, duration",
    ),
    known("Microsoft.AspNetCore.Server.Kestrel", "meter 8+", "connections, queues and TLS of the web server"),
    known("Microsoft-AspNetCore-Server-Kestrel", "EventCounters 5+", "the same before 8"),
    known("Microsoft.AspNetCore.Routing", "meter 8+", "requests that matched a route, or none"),
    known("Microsoft.AspNetCore.Diagnostics", "meter 8+", "exceptions that middleware handled"),
    known("Microsoft.AspNetCore.RateLimiting", "meter 8+", "leases, queue and rejected requests"),
    known("Microsoft.AspNetCore.Http.Connections", "meter 8+", "SignalR connections (EventCounters 3.0+)"),
    known(
        "Microsoft.EntityFrameworkCore",
        "meter 9+, EventCounters 5+",
        "queries, saved changes, contexts, cache hits",
    ),
];

const fn known(provider: &'static str, kind: &'static str, what: &'static str) -> Known {
    Known { provider, kind, what }
}
