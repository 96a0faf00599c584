//! Real programs, and what their runtimes say of their code in events.

use std::time::Duration;

use diagnostics_ipc::{Client, Endpoint, Level, Provider, Rundown, TraceRequest};
use event_session::{Going, Observer, Seen, observe};
use runtime_events::{RuntimeEvent, provider};
use symbols::{CodeMap, MethodKind};
use tempfile::TempDir;
use testbed::{Runtime, Target, shared};

/// How long things may take that take no time on an idle machine.
pub const LONG: Duration = Duration::from_secs(60);

/// A running program.
pub struct Subject {
    /// Killed when it is dropped, before the folder with its socket goes.
    pub target: Target,
    client: Client,
    _folder: TempDir,
}

/// A method, as the runtime tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub start: u64,
    pub bytes: u32,
    pub id: u64,
    pub module: u64,
    pub path: String,
    pub token: u32,
    pub kind: MethodKind,
    pub type_name: String,
    pub name: String,
    pub signature: String,
    pub human_name: String,
}

#[derive(Default)]
struct Learning(CodeMap);

impl Observer for Learning {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>) {
        self.0.learn_at(event, seen.at_ns);
    }
}

impl Subject {
    /// The patient; on .NET 10 a program that is not ours.
    pub fn start(patient: &str, runtime: Runtime) -> Subject {
        let folder = tempfile::tempdir().expect("a temp folder");
        let builder = match runtime {
            Runtime::Net10 => shared().stranger(),
            _ => shared().target(patient, runtime),
        };
        let target = builder.tmpdir(folder.path()).start().expect("the target starts");
        let names = std::fs::read_dir(folder.path()).expect("the folder can be read").flatten();
        let socket = names.map(|entry| entry.path()).find(|path| path.to_string_lossy().ends_with("-socket"));
        let endpoint = Endpoint::at(socket.expect("the runtime has made its socket"));
        Subject { client: Client::new(endpoint).with_timeout(LONG), target, _folder: folder }
    }

    /// All methods that the runtime tells of at the end of a session.
    pub fn rundown(&self) -> Vec<Told> {
        let providers = vec![Provider::new(provider::RUNTIME, 0x8, Level::Informational)];
        let request = TraceRequest {
            rundown: Rundown::Keywords(symbols::RUNDOWN_FOR_NAMES),
            ..TraceRequest::new(64, providers)
        };
        let driven = observe(&self.client, &request, Learning::default(), |_| Going::Stop);
        let observed = driven.expect("a session").value;
        assert!(observed.damage.is_none() && observed.undecodable == 0, "{:?}", observed.damage);
        let mut map = observed.observer.0;
        map.settle();
        map.methods()
            .map(|method| Told {
                start: method.start().0,
                bytes: method.code_bytes(),
                id: method.id().0,
                module: method.module().0,
                path: method.module_path().unwrap_or_default().to_owned(),
                token: method.token().0,
                kind: method.kind(),
                type_name: method.raw_type().to_owned(),
                name: method.raw_method().to_owned(),
                signature: method.raw_signature().to_owned(),
                human_name: method.human_name(),
            })
            .collect()
    }
}
