//! Real programs, and what their runtimes say of their code in events.

use std::time::Duration;

use diagnostics_ipc::{Client, Endpoint, Level, Provider, Rundown, TraceRequest};
use event_session::{Going, Observer, Seen, observe};
use model::ProcessId;
use runtime_events::{RuntimeEvent, provider};
use symbols::CodeMap;
use tempfile::TempDir;
use testbed::{Runtime, Target, shared};

/// How long things may take that take no time on an idle machine.
const LONG: Duration = Duration::from_secs(60);

/// A running program.
pub struct Subject {
    /// Killed when it is dropped, before the folder with its socket goes.
    pub target: Target,
    client: Client,
    _folder: TempDir,
}

#[derive(Default)]
struct Learning(CodeMap);

impl Observer for Learning {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>) {
        self.0.learn_at(event, seen.at_ns);
    }
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

    pub fn pid(&self) -> ProcessId {
        ProcessId(self.target.pid())
    }

    /// All code that the runtime tells of at the end of a session.
    pub fn rundown(&self) -> CodeMap {
        let providers = vec![Provider::new(provider::RUNTIME, 0x8, Level::Informational)];
        let rundown = Rundown::Keywords(symbols::RUNDOWN_FOR_NAMES);
        let request = TraceRequest { rundown, ..TraceRequest::new(64, providers) };
        let driven = observe(&self.client, &request, Learning::default(), |_| Going::Stop);
        let observed = driven.expect("a session").value;
        assert!(observed.damage.is_none() && observed.undecodable == 0, "{:?}", observed.damage);
        let mut map = observed.observer.0;
        map.settle();
        map
    }
}
