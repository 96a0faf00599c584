//! `-- command`: starting a program, looking at it, and stopping it again.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use diagnostics_ipc::{LaunchError, Launched, launch};
use discovery::{DotnetProcess, FindError, Options, find};
use model::ProcessId;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::exit_code::Code;
use crate::explain::Failure;

/// How long a program may take until its runtime shows up.
const START: Duration = Duration::from_secs(30);
/// A runtime that has a socket but has not called by then is too old to call (3.1).
const CALL: Duration = Duration::from_secs(1);
/// How long a program may take to end after SIGTERM.
const FAREWELL: Duration = Duration::from_secs(5);
/// How often a program is looked at.
const GLANCE: Duration = Duration::from_millis(20);

/// A program that we started. It ends with us: nothing stays behind.
pub enum Program {
    /// Its runtime called our port, which stays open for .NET children of the program.
    Ported(Launched),
    /// Its runtime is too old to call a port.
    Plain(Child),
}

/// Starts a program and waits until a .NET runtime runs in it.
pub fn start(command: &[OsString]) -> Result<(Program, DotnetProcess), Failure> {
    let [program, arguments @ ..] = command else {
        return Err(Failure::new(Code::LaunchFailed, "no program was given after --"));
    };
    let mut first_seen: Option<Instant> = None;
    let launched = launch(prepare(program, arguments)?, START, |child| {
        // Our own port is the usual way; a socket without a call means an old runtime.
        let seen = find(ProcessId(child.id()), &quick()).is_ok_and(|process| process.endpoint.is_some());
        first_seen = first_seen.or(seen.then(Instant::now));
        first_seen.is_some_and(|moment| moment.elapsed() > CALL)
    });
    match launched {
        Ok(launched) => begin(launched),
        Err(LaunchError::NoRuntime { child, .. }) if first_seen.is_some() => {
            let pid = ProcessId(child.id());
            let program = Program::Plain(*child);
            Ok((program, find(pid, &Options::default())?))
        }
        Err(error) => {
            let failure = Failure::from(&error);
            if let LaunchError::NoRuntime { child, .. } = error {
                Program::Plain(*child).stop();
            }
            Err(failure)
        }
    }
}

fn quick() -> Options {
    Options { timeout: Duration::from_millis(50) }
}

/// Its output goes to our standard error: our standard output is for the answer.
fn prepare(program: &OsString, arguments: &[OsString]) -> Result<Command, Failure> {
    let stderr = || -> Result<Stdio, Failure> {
        let copy = std::io::stderr().as_fd().try_clone_to_owned();
        copy.map(Stdio::from).map_err(|error| Failure::new(Code::Unexpected, error.to_string()))
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(stderr()?).stderr(stderr()?);
    Ok(command)
}

fn begin(launched: Launched) -> Result<(Program, DotnetProcess), Failure> {
    let resumed = launched.resume();
    let pid = u32::try_from(launched.runtime.pid).map(ProcessId).unwrap_or(ProcessId(launched.child.id()));
    let program = Program::Ported(launched);
    resumed.map_err(|error| Failure::new(Code::LaunchFailed, format!("letting the program run: {error}")))?;
    let process = find(pid, &Options::default()).map_err(|error| match error {
        FindError::NoSuchProcess { .. } => Failure::new(Code::TargetEnded, "the program ended at once")
            .next("start it by hand to see what it says"),
        error => error.into(),
    })?;
    Ok((program, process))
}

impl Program {
    fn child(&mut self) -> &mut Child {
        match self {
            Program::Ported(launched) => &mut launched.child,
            Program::Plain(child) => child,
        }
    }

    /// Ends it, politely first. Returns how it ended if it had ended by itself.
    pub fn stop(mut self) -> Option<ExitStatus> {
        let ended = self.child().try_wait().ok().flatten();
        self.signal(Signal::TERM);
        let asked = Instant::now();
        while asked.elapsed() < FAREWELL && matches!(self.child().try_wait(), Ok(None)) {
            std::thread::sleep(GLANCE);
        }
        ended
    }

    /// To the whole group: a shell or launcher may stand between us and the program.
    fn signal(&mut self, signal: Signal) {
        let group = i32::try_from(self.child().id()).ok().and_then(Pid::from_raw);
        let _ = group.map(|group| kill_process_group(group, signal));
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child().wait();
    }
}
