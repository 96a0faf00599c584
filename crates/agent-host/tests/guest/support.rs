//! A target, and what can be seen of it from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agent_host::{AgentError, Attached, Options, attach};
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
    pub threads: usize,
    pub descriptors: usize,
    pub mappings: usize,
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

fn temp_folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("guest").tempdir().expect("a folder");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    fs::set_permissions(folder.path(), open).expect("a folder for everybody");
    folder
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
        match runtime {
            Runtime::Net10 => Guest::stranger(),
            _ => Guest::of("healthy-idle-service", runtime),
        }
    }

    /// One of whose stacks we know something.
    pub fn with_known_stack(runtime: Runtime) -> Guest {
        match runtime {
            Runtime::Net10 => Guest::stranger(),
            _ => Guest { known_method: "Bank.Ledger.Transfer", ..Guest::of("deadlock-ab-ba", runtime) },
        }
    }

    fn stranger() -> Guest {
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

    pub fn attach_impatiently(&self) -> Result<Attached, AgentError> {
        let client = self.client.clone().with_timeout(Duration::from_millis(200));
        attach(self.pid(), &client, &Options::default())
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
        let count = |folder: &str| fs::read_dir(format!("/proc/{pid}/{folder}")).expect("a folder").count();
        Vitals {
            threads: count("task"),
            descriptors: count("fd"),
            mappings: maps.lines().count(),
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
