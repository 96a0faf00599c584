//! A target, and what can be seen of it from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agent_host::{AgentError, Attached, GraphWay, Options, Pick, Plan, attach, find_lock_layout};
use diagnostics_ipc::Client;
use discovery::find;
use model::ProcessId;
use process_view::Process;
use tempfile::TempDir;
use testbed::{Runtime, Target, TargetBuilder, shared};

/// How long things may take that take no time on an idle machine.
pub const LONG: Duration = Duration::from_secs(60);
/// The name of the agent's thread.
const THREAD: &str = "drdotnet-agent";

/// How much of everything a busy target does a second.
const BUSY: [&str; 4] = ["dishes=400", "mishaps=200", "helpers=50", "recipes=50"];

/// Tells a thread that it is done, also when a test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A target with a temp folder of its own.
pub struct Guest {
    pub target: Target,
    pub client: Client,
    pub folder: TempDir,
    /// A method that is on a stack.
    pub known_method: &'static str,
}

/// What the visits of an agent must not add to.
#[derive(Debug)]
pub struct Vitals {
    pub threads: u64,
    pub descriptors: u64,
    pub mappings: u64,
    /// Mappings of the agent's library.
    pub library: usize,
    pub resident: u64,
}

/// All four, beside each other: much of each visit is waiting.
pub fn every_runtime(test: impl Fn(Runtime) + Sync) {
    std::thread::scope(|scope| {
        let test = &test;
        let started = Runtime::ALL.map(|runtime| (runtime, scope.spawn(move || test(runtime))));
        for (runtime, thread) in started {
            assert!(thread.join().is_ok(), "on {runtime}");
        }
    });
}

/// The major version, as the profiling interface says it.
pub fn major(runtime: Runtime) -> u16 {
    match runtime {
        Runtime::Net31 => 4, // as it says
        Runtime::Net8 => 8,
        Runtime::Net9 => 9,
        Runtime::Net10 => 10,
    }
}

pub fn temp_folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("guest").tempdir().expect("a folder");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    fs::set_permissions(folder.path(), open).expect("a folder for everybody");
    folder
}

/// A program that does little, not started yet.
pub fn idle(runtime: Runtime) -> TargetBuilder<'static> {
    shared().target("healthy-idle-service", runtime)
}

impl Guest {
    pub fn started(builder: TargetBuilder<'_>, folder: TempDir, known_method: &'static str) -> Guest {
        let target = builder.start().expect("the target starts");
        let options = discovery::Options { timeout: LONG };
        let found = find(ProcessId(target.pid()), &options).expect("the target is found");
        let client = found.client().expect("it has a socket").with_timeout(LONG);
        Guest { target, client, folder, known_method }
    }

    /// A patient.
    pub fn of(patient: &str, runtime: Runtime) -> Guest {
        let folder = temp_folder();
        let builder = shared().target(patient, runtime).tmpdir(folder.path());
        Guest::started(builder, folder, "")
    }

    /// One that does little.
    pub fn quiet(runtime: Runtime) -> Guest {
        let folder = temp_folder();
        Guest::started(idle(runtime).tmpdir(folder.path()), folder, "")
    }

    /// One that allocates, throws, starts threads and compiles, all the time.
    pub fn busy(runtime: Runtime, more: &[&str]) -> Guest {
        let folder = temp_folder();
        let mut builder = shared().target("healthy-mixed-load", runtime).tmpdir(folder.path());
        for arg in BUSY.iter().chain(more) {
            builder = builder.arg(arg);
        }
        Guest::started(builder, folder, "Kitchen.Restaurant.Run")
    }

    /// One with many threads that wait deep down, and little else.
    pub fn crowd(runtime: Runtime, threads: u32, depth: u32) -> Guest {
        let folder = temp_folder();
        let builder = shared().target("healthy-mixed-load", runtime).tmpdir(folder.path());
        let builder =
            ["dishes=1", "mishaps=1", "helpers=1", "recipes=1"].iter().fold(builder, |it, arg| it.arg(arg));
        let builder = builder.arg(format!("guests={threads}")).arg(format!("depth={depth}"));
        Guest::started(builder, folder, "Kitchen.DiningRoom.Dine")
    }

    /// Does something while the stranger has work to do: it is asked all the time. What it does not understand makes it
    /// throw, each request allocates and goes through threads of its pool, and what is asked often is compiled anew.
    pub fn asked_all_the_time<T>(&self, something: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for id in 10_u64.. {
                    let method =
                        ["ping", "unknown", "tools/call", "ping"][usize::try_from(id % 4).expect("small")];
                    let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
                    if done.load(Ordering::Acquire)
                        || self.target.say(&(request + "\n{no request\n")).is_err()
                    {
                        break;
                    }
                    // Not faster than it can answer.
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
            let _done = SetOnDrop(&done);
            something()
        })
    }

    /// One of whose stacks we know something.
    pub fn with_known_stack(runtime: Runtime) -> Guest {
        Guest { known_method: "Bank.Ledger.Transfer", ..Guest::of("deadlock-ab-ba", runtime) }
    }

    pub fn stranger() -> Guest {
        let folder = temp_folder();
        let builder = shared().stranger().tmpdir(folder.path());
        Guest::started(builder, folder, "System.Threading.Monitor.Wait")
    }

    pub fn pid(&self) -> ProcessId {
        ProcessId(self.target.pid())
    }

    pub fn attach(&self) -> Result<Attached, AgentError> {
        self.attach_with(&Options::default())
    }

    pub fn attach_with(&self, options: &Options) -> Result<Attached, AgentError> {
        attach(self.pid(), &self.client, options)
    }

    /// Asks every question there is. One that this runtime cannot answer is refused, which is an answer, too.
    pub fn ask_everything(&self, attached: &mut Attached) -> Result<(), AgentError> {
        let answered = |outcome: Result<(), AgentError>| match outcome {
            Err(AgentError::Refused { .. }) => Ok(()),
            outcome => outcome,
        };
        answered(attached.threads().map(drop))?;
        answered(attached.stacks().map(drop))?;
        answered(attached.async_sample().map(drop))?;
        answered(attached.async_census().map(drop))?;
        if attached.walks_heap() {
            let types = attached.heap_types(Vec::new()).map(|found| found.types);
            // As many objects as it has, in vain where they are more than are kept.
            let picks = types.as_ref().map_or(Vec::new(), |types| {
                let pick = |id| Pick { class: id, bytes: 64, all: true, without: (0, 0) };
                types.iter().filter(|found| found.count > 0).map(|found| pick(found.id)).collect()
            });
            answered(types.map(drop))?;
            let order = crate::graph::order(GraphWay::Walk);
            let heap = attached.heap_graph(&order, &mut crate::graph::Counting::default(), |_| ());
            answered(heap.map(drop))?;
            answered(attached.objects(Plan { picks, ..Plan::default() }).map(drop))?;
        }
        let layout = match find_lock_layout(self.pid(), attached) {
            Ok(found) => found.layout,
            Err(error) => return answered(Err(error)),
        };
        if let Some(layout) = layout {
            answered(attached.locks(&layout).map(drop))?;
            answered(attached.lock_owners(&layout).map(drop))?;
        }
        Ok(())
    }

    /// One visit, with a question; how many there have been in this image.
    pub fn visit(&self) -> u32 {
        let mut attached = self.attach().expect("the agent comes");
        assert!(!attached.stacks().expect("stacks").stacks.is_empty());
        let visits = attached.hello().attached;
        let farewell = attached.leave().expect("it leaves");
        assert!(farewell.confirmed, "{farewell:?}");
        visits
    }

    /// One more visit goes as it should.
    pub fn can_be_visited(&self) {
        let mut attached = self.attach().expect("the agent comes again");
        assert!(!attached.threads().expect("threads").threads.is_empty());
        assert!(attached.leave().expect("it leaves").confirmed);
    }

    /// It is alive, and it uses the processor, as its illness wants.
    pub fn still_works(&self) {
        let process = Process::new(self.pid());
        let used = || process.stat().expect("it lives").cpu_ticks();
        let before = used();
        wait_for("the target to work on", || used() > before);
        assert!(self.target.is_alive());
    }

    pub fn has_agent_thread(&self) -> bool {
        thread_names(self.target.pid()).iter().any(|name| name == THREAD)
    }

    /// Waits until the agent's thread has ended.
    pub fn wait_until_alone(&self) {
        wait_for("the agent to leave", || !self.has_agent_thread());
    }

    /// A file in the target's temp folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn has_file(&self, name: &str) -> bool {
        self.file(name).symlink_metadata().is_ok()
    }

    pub fn vitals(&self) -> Vitals {
        let pid = self.target.pid();
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("mappings");
        let count =
            |folder: &str| fs::read_dir(format!("/proc/{pid}/{folder}")).expect("a folder").count() as u64;
        Vitals {
            threads: count("task"),
            descriptors: count("fd"),
            mappings: maps.lines().count() as u64,
            library: maps.lines().filter(|line| line.contains("drdotnet-agent-")).count(),
            resident: Process::new(self.pid()).status().expect("status").resident_bytes.expect("memory"),
        }
    }
}

fn thread_names(pid: u32) -> Vec<String> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let name = |task: &Path| fs::read_to_string(task.join("comm")).unwrap_or_default().trim().to_owned();
    tasks.flatten().map(|task| name(&task.path())).collect()
}

pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Numbers that nobody chose. Their seed is printed, for a test that fails.
pub struct Chance(u64);

impl Chance {
    pub fn new() -> Chance {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
        let seed = u64::from(now.subsec_nanos()) | 1;
        println!("seed {seed}");
        Chance(seed)
    }

    pub fn number(&mut self) -> u64 {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From 0 to 1.
    pub fn share(&mut self) -> f64 {
        f64::from(u16::try_from(self.number() & 0xffff).expect("16 bits")) / 65536.0
    }
}
