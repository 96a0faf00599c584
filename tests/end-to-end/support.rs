//! Running `drdotnet` and looking at what it says.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use model::Report;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use testbed::CommandLine;

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_drdotnet");

/// A user with sessions of their own.
pub struct User {
    folder: TempDir,
}

impl User {
    /// A user who has run nothing yet.
    pub fn new() -> User {
        User { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// A folder for anything the test wants to write.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where the sessions go.
    pub fn sessions(&self) -> PathBuf {
        self.folder.path().join("sessions")
    }

    /// A `drdotnet` command.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments);
        self.prepare(&mut command);
        command
    }

    /// Makes a command that will start `drdotnet` start it as this user's.
    pub fn prepare(&self, command: &mut Command) {
        command.env("DRDOTNET_SESSIONS", self.sessions()).stdin(Stdio::null());
        command.env("TERM", "xterm").env_remove("NO_COLOR");
    }

    /// Runs `drdotnet` to its end.
    pub fn says(&self, arguments: &[&str]) -> Said {
        said(&mut self.command(arguments))
    }

    /// Starts `drdotnet` and goes on.
    pub fn starts(&self, arguments: &[&str]) -> Started {
        start(&mut self.command(arguments))
    }

    /// What `drdotnet` prints at a terminal with so many columns; none, with a printed reason, where there is no
    /// program `script` to make a terminal with.
    pub fn sees(&self, columns: u16, arguments: &[&str], environment: &[(&str, &str)]) -> Option<String> {
        let words: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
        let line = format!("stty cols {columns}; '{BINARY}' {}", words.join(" "));
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]);
        self.prepare(&mut command);
        match command.envs(environment.iter().copied()).output() {
            Ok(output) => Some(String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n")),
            Err(error) => {
                skip(&format!("there is no terminal to look at: script: {error}"));
                None
            }
        }
    }

    /// The sessions as `drdotnet sessions list --json` tells of them.
    pub fn listed(&self) -> Vec<Value> {
        let said = self.says(&["sessions", "list", "--json"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said.json()["sessions"].as_array().expect("a list").clone()
    }

    /// Waits until a session is running, and returns it.
    pub fn wait_running(&self) -> Value {
        eventually("a session is running", || {
            self.listed().into_iter().find(|session| session["status"] == "running")
        })
    }
}

/// What a finished command printed.
#[derive(Debug)]
pub struct Said {
    /// Exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Said {
    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Standard output as a report; the run must have succeeded.
    pub fn report(&self) -> Report {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        Report::from_json(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        Said {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// For how long a checkup watches by itself.
const CHECKUP: Duration = Duration::from_secs(12);
/// Those that are to run until they are ended are ended soon.
const UNTIL_ENDED: Duration = Duration::from_secs(3);

/// Tells the test bed for how long a command will watch its target.
fn tell_watching(command: &Command) {
    let words: Vec<&str> = command.get_args().filter_map(OsStr::to_str).collect();
    let is_drdotnet = command.get_program() == BINARY || words.contains(&BINARY);
    if !is_drdotnet || words.contains(&"--help") {
        return;
    }
    let after = |names: [&str; 2]| words.windows(2).find(|two| names.contains(&two[0])).map(|two| two[1]);
    let asked = after(["-d", "--duration"]).and_then(|text| model::parse_duration(text).ok());
    let by_itself = || words.contains(&"checkup").then_some(CHECKUP);
    if let Some(time) = asked.map(|time| time.min(CHECKUP)).or_else(by_itself) {
        testbed::watching(if time == CHECKUP && asked.is_some() { UNTIL_ENDED } else { time });
    }
}

/// Runs a command to its end.
pub fn said(command: &mut Command) -> Said {
    let said = Said::from(command.output().expect("the command starts"));
    // Whoever was refused has watched nothing.
    if said.code.is_some_and(|code| matches!(code, 0 | 48 | 50)) {
        tell_watching(command);
    }
    said
}

/// A process of the test that is still running. It is killed when this is dropped.
pub struct Started(Option<Child>);

/// Starts a command and goes on.
pub fn start(command: &mut Command) -> Started {
    tell_watching(command);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    Started(Some(child.expect("the command starts")))
}

impl Started {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.0.as_ref().expect("it runs").id()
    }

    /// The process itself.
    pub fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it runs")
    }

    /// Waits until `drdotnet` has looked at its target more than once.
    pub fn wait_looks(&self) {
        let before = naps(self.pid());
        eventually("the target has been looked at", || (naps(self.pid()) > before + 24).then_some(()));
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Waits for its end.
    pub fn ends(mut self) -> Said {
        let child = self.0.take().expect("it runs");
        child.wait_with_output().expect("it can be waited for").into()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Sends a signal to a process that the test is responsible for.
pub fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, signal).expect("the process is there");
}

/// A program of the test bed under a name that no other process has, or that is hostile.
pub fn start_named(user: &User, name: impl AsRef<OsStr>, line: &CommandLine) -> Started {
    let link = user.folder().join(name.as_ref());
    std::os::unix::fs::symlink(&line.program, &link).expect("a link");
    let mut command = Command::new(link);
    line.apply_environment(&mut command);
    // A pipe that stays open: programs that serve standard input end with it.
    start(command.args(&line.args).stdin(Stdio::piped()))
}

/// A copy of `drdotnet` in a folder that everybody may enter, for another user to run.
pub fn copy_for_others() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("its owner may do that");
    let copy = folder.path().join("drdotnet");
    // Written by this process, it could not be run while a child of another test still holds the open file.
    let status = Command::new("cp").arg(BINARY).arg(&copy).status().expect("cp starts");
    assert!(status.success(), "{status}");
    (folder, copy)
}

/// Waits until something is there.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < until, "waited {PATIENCE:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How often a process has gone to sleep by itself. Between two looks, `drdotnet` does so many times.
fn naps(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).expect("a number")
}

/// Says why a test proves nothing here.
pub fn skip(reason: &str) {
    // Not `eprintln`, which the test harness hides for a test that passes.
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// Whether the test may do what only root may; says so if not.
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("it needs root");
    }
    root
}

/// Compares with the accepted text in the folder `golden`.
#[track_caller]
pub fn check_golden(name: &str, text: &str) {
    golden::check(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/end-to-end/golden").join(name),
        text,
    );
}
