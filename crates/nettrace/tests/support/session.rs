//! Sessions on real runtimes.

use std::time::Duration;

use diagnostics_ipc::{Client, Endpoint, Level, Provider, Rundown, TraceRequest};
use tempfile::TempDir;
use testbed::{Runtime, Target, shared};

/// How long things may take that take no time on an idle machine.
pub const LONG: Duration = Duration::from_secs(30);

/// Every runtime, oldest first.
pub const EVERY: [Runtime; 4] = [Runtime::Net31, Runtime::Net8, Runtime::Net9, Runtime::Net10];

/// Groups of the runtime's provider.
pub mod keyword {
    pub const GC: u64 = 0x1;
    pub const JIT: u64 = 0x10;
    pub const CONTENTION: u64 = 0x4000;
    pub const EXCEPTIONS: u64 = 0x8000;
}

/// A running program and the way to its runtime.
pub struct Subject {
    pub client: Client,
    /// Killed when it is dropped, before the folder with its socket goes.
    pub target: Target,
    _folder: TempDir,
}

/// Instead of a patient: a program on .NET 10 that is not ours.
pub const STRANGER: &str = "stranger";

impl Subject {
    /// The patient, or [`STRANGER`].
    pub fn start(patient: &str, runtime: Runtime) -> Subject {
        let folder = tempfile::tempdir().expect("a temp folder");
        let builder = match patient {
            STRANGER => shared().stranger(),
            _ => shared().target(patient, runtime),
        };
        let target = builder.tmpdir(folder.path()).start().expect("the target starts");
        let names = std::fs::read_dir(folder.path()).expect("the folder can be read").flatten();
        let socket = names.map(|entry| entry.path()).find(|path| path.to_string_lossy().ends_with("-socket"));
        let endpoint = Endpoint::at(socket.expect("the runtime has made its socket"));
        Subject { client: Client::new(endpoint).with_timeout(LONG), target, _folder: folder }
    }
}

/// The runtime's own events.
pub fn runtime_events(keywords: u64) -> Provider {
    Provider::new("Microsoft-Windows-DotNETRuntime", keywords, Level::Verbose)
}

/// A sample of every managed thread every 10 ms or less.
pub fn samples() -> Provider {
    Provider::new("Microsoft-DotNETCore-SampleProfiler", 0, Level::Informational)
}

/// Counters, which describe their fields.
pub fn counters() -> Provider {
    let mut provider = Provider::new("System.Runtime", 0xFFFF_FFFF, Level::Verbose);
    provider.arguments = "EventCounterIntervalSec=1".into();
    provider
}

/// A session without names at its end.
pub fn without_rundown(providers: Vec<Provider>) -> TraceRequest {
    TraceRequest { rundown: Rundown::None, ..TraceRequest::new(16, providers) }
}
