//! Recordings of real programs, with names at their end.

use std::io::Read;
use std::time::Duration;

use diagnostics_ipc::{Client, Endpoint, Level, Provider, TraceRequest};
use event_session::{Going, SessionEnd, Waiting, drive};
use runtime_events::provider;
use tempfile::TempDir;
use testbed::{Runtime, Target, shared};

/// A running program and the way to its runtime.
pub struct Subject {
    client: Client,
    /// Killed when it is dropped, before the folder with its socket goes.
    _target: Target,
    _folder: TempDir,
}

/// Instead of a patient: a program on .NET 10 that is not ours.
pub const STRANGER: &str = "stranger";

impl Subject {
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
        let client = Client::new(endpoint).with_timeout(Duration::from_secs(60));
        Subject { client, _target: target, _folder: folder }
    }

    /// Records until `enough`, then takes the rest of the stream as well.
    pub fn record(&self, providers: Vec<Provider>, mut enough: impl FnMut(Waiting) -> bool) -> Vec<u8> {
        let request = TraceRequest::new(64, providers);
        let consume = |mut stream: event_session::SessionStream| {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).map(|_| bytes)
        };
        let driven = drive(&self.client, &request, consume, |waiting| {
            std::thread::sleep(waiting.slice);
            if enough(waiting) { Going::Stop } else { Going::On }
        });
        let driven = driven.expect("the session starts");
        assert_eq!(driven.end, SessionEnd::Stopped);
        driven.value.expect("the stream can be read")
    }
}

/// The runtime's own events.
pub fn runtime_events(keywords: u64) -> Provider {
    Provider::new(provider::RUNTIME, keywords, Level::Verbose)
}

/// Stacks of all managed threads.
pub fn samples() -> Provider {
    Provider::new(provider::SAMPLE_PROFILER, 0, Level::Informational)
}
