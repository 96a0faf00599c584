//! Sessions on real runtimes, decoded while the events come.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use diagnostics_ipc::{Client, Endpoint, Level, Provider, Rundown, TraceRequest};
use nettrace::{Event, Item, Reader};
use runtime_events::{RuntimeEvent, decode_with_rest, provider};
use tempfile::TempDir;
use testbed::{Runtime, Target, shared};

/// How long things may take that take no time on an idle machine.
const LONG: Duration = Duration::from_secs(90);

/// Every runtime, oldest first.
pub const EVERY: [Runtime; 4] = [Runtime::Net31, Runtime::Net8, Runtime::Net9, Runtime::Net10];
/// The runtimes that patients run on.
pub const PATIENTS: [Runtime; 4] = Runtime::ALL;

/// A running program and the way to its runtime.
pub struct Subject {
    pub client: Client,
    /// Killed when it is dropped, before the folder with its socket goes.
    pub target: Target,
    pub runtime: Runtime,
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
        Subject { client: Client::new(endpoint).with_timeout(LONG), target, runtime, _folder: folder }
    }

    /// Runs a session until `enough` says so and reads it to its end. Every event has to decode, and entirely.
    pub fn watch<S: Default + Send + 'static>(
        &self,
        request: &TraceRequest,
        see: fn(&mut S, &Event<'_>, RuntimeEvent<'_>),
        enough: fn(&S) -> bool,
    ) -> S {
        let seen = self.watch_at_most(LONG, request, see, enough);
        seen.unwrap_or_else(|| panic!("{}: the events have not come", self.runtime))
    }

    /// The same for no longer than this; `None` if that was not enough.
    pub fn watch_at_most<S: Default + Send + 'static>(
        &self,
        time: Duration,
        request: &TraceRequest,
        see: fn(&mut S, &Event<'_>, RuntimeEvent<'_>),
        enough: fn(&S) -> bool,
    ) -> Option<S> {
        let (stream, _) = self.client.collect_tracing(request).expect("a session");
        let session = stream.session;
        stream.set_read_timeout(Some(LONG)).expect("a timeout can be set");
        let has_enough = Arc::new(AtomicBool::new(enough(&S::default())));
        let told = Arc::clone(&has_enough);
        let runtime = self.runtime;
        let reading = std::thread::spawn(move || {
            let mut reader = Reader::new(stream);
            let mut state = S::default();
            let mut seen = BTreeMap::<_, u64>::new();
            while let Some(item) = reader.next().expect("the stream is sound") {
                let Item::Event(event) = item else { continue };
                let decoded = decode_with_rest(&event).unwrap_or_else(|error| panic!("{runtime}: {error}"));
                let Some((decoded, rest)) = decoded else { continue };
                assert!(rest.is_empty(), "{runtime}: {rest:?} behind {decoded:?}");
                *seen.entry((decoded.name(), event.version().0)).or_default() += 1;
                see(&mut state, &event, decoded);
                told.fetch_or(enough(&state), Ordering::AcqRel);
            }
            for ((name, version), count) in seen {
                println!("{runtime} {name} v{version}: {count}");
            }
            state
        });
        let until = Instant::now() + time;
        while !has_enough.load(Ordering::Acquire) && !reading.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let came = has_enough.load(Ordering::Acquire);
        self.client.stop_tracing(session).expect("the session stops");
        let state = reading.join().expect("the stream ends properly");
        assert!(self.target.is_alive(), "{runtime}: {}", self.target.stderr_text());
        came.then_some(state)
    }
}

/// The runtime's own events, without names at the end.
pub fn runtime_events(keywords: u64) -> TraceRequest {
    session(vec![Provider::new(provider::RUNTIME, keywords, Level::Verbose)])
}

/// A session without names at its end.
pub fn session(providers: Vec<Provider>) -> TraceRequest {
    TraceRequest { rundown: Rundown::None, ..TraceRequest::new(64, providers) }
}

/// A provider with arguments.
pub fn with_arguments(name: &str, keywords: u64, arguments: &str) -> Provider {
    let mut provider = Provider::new(name, keywords, Level::Verbose);
    provider.arguments = arguments.into();
    provider
}
