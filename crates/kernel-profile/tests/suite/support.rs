//! A program, a sampler on it, and its runtime's own words about its code, together.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diagnostics_ipc::{Client, Endpoint, Level, Provider, Rundown, TraceRequest};
use event_session::{Going, Observer, Seen, observe};
use kernel_profile::{Intake, Names, Profiles};
use model::{Frame, FrameKind, ProcessId};
use native_symbols::KernelNames;
use perf_sampler::{Collect, Options, Record, Sampler, Scope, Timestamp, WaitStacks, Wake};
use runtime_events::{RuntimeEvent, provider};
use stacks::{Profile, StackKey};
use symbols::{CodeMap, LIVE_FOR_NAMES};
use tempfile::TempDir;
use testbed::{Runtime, Target, TargetBuilder, shared};

/// How long things may take that take no time on an idle machine.
pub const LONG: Duration = Duration::from_secs(120);
const OFTEN: Duration = Duration::from_millis(20);

/// Whether this user has rights over the machine; else says that the test does not run.
pub fn may_watch() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: needs root");
    }
    root
}

/// A running program.
pub struct Subject {
    pub target: Target,
    client: Client,
    _folder: TempDir,
}

/// What its runtime tells of its code, as it tells it.
pub struct Code {
    pub map: Arc<Mutex<CodeMap>>,
    stop: Arc<AtomicBool>,
    session: Option<std::thread::JoinHandle<()>>,
}

struct Learner(Arc<Mutex<CodeMap>>);

impl Observer for Learner {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>) {
        // The runtime's ticks are the nanoseconds of the sampler's clock.
        self.0.lock().expect("nobody panicked").learn_at(event, seen.event.header.timestamp.0);
    }
}

impl Subject {
    pub fn start(patient: &str, runtime: Runtime) -> Subject {
        Subject::of(shared().target(patient, runtime))
    }

    pub fn of(builder: TargetBuilder<'_>) -> Subject {
        let folder = tempfile::tempdir().expect("a temp folder");
        let target = builder.tmpdir(folder.path()).start().expect("the target starts");
        Subject::new(target, folder)
    }

    /// One that has just begun: its runtime may not listen yet, and is waited for.
    pub fn beginning(builder: TargetBuilder<'_>) -> Subject {
        let folder = tempfile::tempdir().expect("a temp folder");
        let target = builder.tmpdir(folder.path()).start_without_waiting().expect("the target starts");
        Subject::new(target, folder)
    }

    fn new(target: Target, folder: TempDir) -> Subject {
        let begun = Instant::now();
        let socket: PathBuf = loop {
            let mut names = std::fs::read_dir(folder.path())
                .expect("the folder is there")
                .flatten()
                .map(|entry| entry.path());
            if let Some(socket) = names.find(|path| path.to_string_lossy().ends_with("-socket")) {
                break socket;
            }
            assert!(begun.elapsed() < LONG && target.is_alive(), "{}", target.stderr_text());
            std::thread::yield_now();
        };
        let client = Client::new(Endpoint::at(socket)).with_timeout(LONG);
        Subject { client, target, _folder: folder }
    }

    pub fn pid(&self) -> ProcessId {
        ProcessId(self.target.pid())
    }

    /// A session that tells of code as it comes and goes, and one whose rundown tells of what is there.
    pub fn code(&self) -> Code {
        let map = Arc::new(Mutex::new(CodeMap::new()));
        let (stop, going) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let live = vec![Provider::new(provider::RUNTIME, LIVE_FOR_NAMES, Level::Verbose)];
        let request = TraceRequest { rundown: Rundown::None, ..TraceRequest::new(64, live.clone()) };
        let (client, learner) = (self.client.clone(), Learner(Arc::clone(&map)));
        let session = {
            let (stop, going) = (Arc::clone(&stop), Arc::clone(&going));
            std::thread::spawn(move || {
                let driven = observe(&client, &request, learner, |waiting| {
                    going.store(true, Ordering::SeqCst);
                    std::thread::park_timeout(waiting.slice);
                    if stop.load(Ordering::SeqCst) { Going::Stop } else { Going::On }
                });
                driven.expect("a live session");
            })
        };
        while !going.load(Ordering::SeqCst) {
            assert!(!session.is_finished(), "the live session failed");
            std::thread::yield_now();
        }
        let request = TraceRequest { rundown: Rundown::Default, ..TraceRequest::new(64, live) };
        observe(&self.client, &request, Learner(Arc::clone(&map)), |_| Going::Stop).expect("a rundown");
        Code { map, stop, session: Some(session) }
    }

    /// Samples it until there is enough, with names all the time.
    pub fn profile(&self, collect: Collect, enough: impl FnMut(&Progress) -> bool) -> Profiles {
        let code = self.code();
        let (intake, started, ended) = self.sample(collect, enough);
        finish(intake, self.pid(), &code.end(), started, ended)
    }

    /// Samples it until there is enough.
    pub fn sample(
        &self,
        collect: Collect,
        mut enough: impl FnMut(&Progress) -> bool,
    ) -> (Intake, Timestamp, Timestamp) {
        let options = Options {
            collect,
            rate_hz: 999,
            wait_stacks: WaitStacks::AtMost { per_second: 4000 },
            ..Options::new(Scope::process(self.pid()))
        };
        let mut sampler = Sampler::start(&options).expect("it may sample");
        let mut intake = Intake::new(127);
        intake.follow(self.pid());
        let mut progress = Progress { samples: 0, waits: 0, since: Instant::now() };
        loop {
            let wake = sampler.wait(OFTEN).expect("waiting works");
            sampler.read(&mut |record| progress.hear(&mut intake, record));
            if wake == Wake::TargetsEnded || enough(&progress) {
                break;
            }
            assert!(progress.since.elapsed() < LONG, "{progress:?}");
        }
        let summary = sampler.finish(&mut |record| progress.hear(&mut intake, record));
        assert_eq!(summary.counts.broken, 0);
        (intake, summary.started, summary.ended)
    }
}

/// Ends with a process, kernel and all.
pub fn finish(
    mut intake: Intake,
    pid: ProcessId,
    code: &CodeMap,
    started: Timestamp,
    ended: Timestamp,
) -> Profiles {
    let kernel = KernelNames::of_this_machine().ok();
    let names = Names { code, kernel: kernel.as_ref(), debug_cache: None };
    intake.finish(pid, &names, started, ended).expect("it was followed")
}

impl Code {
    /// Ends the session: all that it told.
    pub fn end(mut self) -> CodeMap {
        self.stop.store(true, Ordering::SeqCst);
        let session = self.session.take().expect("it ends once");
        session.thread().unpark();
        session.join().expect("the session ends well");
        let mut map = std::mem::take(&mut *self.map.lock().expect("nobody panicked"));
        map.settle();
        map
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(session) = self.session.take() {
            session.thread().unpark();
            let _ = session.join();
        }
    }
}

/// What came so far.
#[derive(Debug)]
pub struct Progress {
    pub samples: u64,
    pub waits: u64,
    pub since: Instant,
}

impl Progress {
    fn hear(&mut self, intake: &mut Intake, record: &Record<'_>) {
        self.samples += u64::from(matches!(record, Record::OnCpu(_)));
        self.waits += u64::from(matches!(record, Record::SwitchOut(_)));
        intake.take(record);
    }
}

/// The named stacks of a profile, innermost frame first, with their moments.
pub fn stacks_of(profile: &Profile) -> impl Iterator<Item = (u64, Vec<&Frame>)> {
    let with_stack = profile.samples.iter().filter_map(|sample| Some((sample.at_ns, sample.stack?)));
    with_stack.map(|(at_ns, stack)| (at_ns, frames(profile, stack)))
}

/// Without the kernel's frames.
pub fn in_user_code<'a, 'b>(stack: &'a [&'b Frame]) -> &'a [&'b Frame] {
    let kernel = stack.iter().take_while(|frame| frame.kind == FrameKind::Kernel).count();
    &stack[kernel..]
}

/// The frames of a stack, innermost first.
pub fn frames(profile: &Profile, stack: StackKey) -> Vec<&Frame> {
    profile.stack(stack).map(|id| &profile.frames[id.0 as usize]).collect()
}
