//! Stacks of real programs, with all that their runtime says about code.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use diagnostics_ipc::{Client, Endpoint, Level, Provider, Rundown, TraceRequest};
use event_session::{Going, Observer, Seen, observe};
use nettrace::CodeAddress;
use runtime_events::{RuntimeEvent, provider};
use symbols::{CodeMap, MethodRef, Position, SourceLine, SourceLookup};
use tempfile::TempDir;
use testbed::{Runtime, Target, shared};

/// How long things may take that take no time on an idle machine.
const LONG: Duration = Duration::from_secs(60);
/// Two stacks of each of a hundred threads.
const ENOUGH: usize = 200;

/// A running program.
pub struct Subject {
    /// Killed when it is dropped, before the folder with its socket goes.
    pub target: Target,
    client: Client,
    _folder: TempDir,
}

/// What a session saw: the code, and each stack once.
pub struct Seeing {
    pub code: CodeMap,
    pub stacks: HashSet<Vec<CodeAddress>>,
    count: Arc<AtomicUsize>,
}

impl Observer for Seeing {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>) {
        self.code.learn_at(event, seen.at_ns);
        if let (RuntimeEvent::Sample(_), Some(stack)) = (event, seen.event.stack) {
            self.stacks.insert(stack.frames().collect());
            self.count.fetch_add(1, Ordering::Relaxed);
        }
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

    /// The target's file system.
    pub fn root(&self) -> PathBuf {
        format!("/proc/{}/root", self.target.pid()).into()
    }

    /// Samples all threads until there are enough stacks; `live` are keywords of the runtime's own provider.
    pub fn sample(&self, rundown: Rundown, live: u64) -> Seeing {
        let providers = vec![
            Provider::new(provider::SAMPLE_PROFILER, 0, Level::Informational),
            Provider::new(provider::RUNTIME, live, Level::Verbose),
        ];
        let request = TraceRequest { rundown, ..TraceRequest::new(64, providers) };
        let count = Arc::new(AtomicUsize::new(0));
        let seeing = Seeing { code: CodeMap::new(), stacks: HashSet::new(), count: Arc::clone(&count) };
        let driven = observe(&self.client, &request, seeing, |waiting| {
            std::thread::sleep(Duration::from_millis(5));
            let enough = count.load(Ordering::Relaxed) >= ENOUGH || waiting.elapsed > LONG;
            if enough { Going::Stop } else { Going::On }
        });
        let observed = driven.expect("a session").value;
        assert!(observed.damage.is_none() && observed.undecodable == 0, "{:?}", observed.damage);
        let mut seeing = observed.observer;
        seeing.code.settle();
        assert!(!seeing.stacks.is_empty(), "no stack was sampled");
        assert!(self.target.is_alive(), "{}", self.target.stderr_text());
        seeing
    }
}

impl Seeing {
    /// Every frame of every stack that has a method, with its line.
    pub fn frames(&self, sources: &mut SourceLookup) -> Vec<(MethodRef<'_>, Option<SourceLine>)> {
        let mut found = Vec::new();
        for stack in &self.stacks {
            for address in stack {
                // These threads wait: their innermost frame, too, is in a call.
                if let Some(method) = self.code.method_for(*address, Position::Caller) {
                    found.push((method, sources.line(&method, *address, Position::Caller)));
                }
            }
        }
        found
    }

    /// How many frames have a name, of how many.
    pub fn named(&self) -> (usize, usize) {
        let all: HashSet<CodeAddress> = self.stacks.iter().flatten().copied().collect();
        let named = all.iter().filter(|at| self.code.method_for(**at, Position::Caller).is_some());
        (named.count(), all.len())
    }
}
