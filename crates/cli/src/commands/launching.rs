//! `-- command`: starting a program, looking at it, and stopping it again.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use diagnostics_ipc::{LaunchError, Launched, launch};
use discovery::{DotnetProcess, FindError, Options, find};
use model::ProcessId;
use process_view::{Process, process_ids};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::control::Interrupt;
use crate::exit_code::Code;
use crate::explain::Failure;

/// How long a program may take until its runtime shows up.
const START: Duration = Duration::from_secs(30);
/// A runtime that has a socket but has not called by then is too old to call (3.1).
const CALL: Duration = Duration::from_secs(10);
/// The same when it is known to be too old.
const CALL_OF_OLD: Duration = Duration::from_millis(200);
/// How long a program may take to end after SIGTERM.
const FAREWELL: Duration = Duration::from_secs(5);
/// How often we look whether an old runtime has started.
const LOOK: Duration = Duration::from_millis(200);
/// How often a program is looked at that is to end.
const GLANCE: Duration = Duration::from_millis(20);

/// A program that we started. It ends with us: nothing stays behind.
pub enum Program {
    /// Its runtime called our port, which stays open for .NET children of the program.
    Ported(Launched),
    /// Its runtime is too old to call a port.
    Plain(Child),
}

/// Starts a program and waits until a .NET runtime runs in it.
pub fn start(command: &[OsString], interrupt: &Interrupt) -> Result<(Program, DotnetProcess), Failure> {
    let [program, arguments @ ..] = command else {
        return Err(Failure::new(Code::LaunchFailed, "no program was given after --"));
    };
    let mut seen: Option<(ProcessId, Instant)> = None;
    let mut last_look: Option<Instant> = None;
    let launched = launch(prepare(program, arguments)?, START, |child| {
        // Our own port is the usual way; a socket without a call means an old runtime.
        if seen.is_none() && last_look.is_none_or(|moment| moment.elapsed() > LOOK) {
            seen = runtime_in(ProcessId(child.id())).map(|pid| (pid, Instant::now()));
            last_look = Some(Instant::now());
        }
        interrupt.is_asked() || seen.is_some_and(|(pid, moment)| moment.elapsed() > time_to_call(pid))
    });
    match launched {
        Ok(launched) => begin(launched),
        Err(LaunchError::NoRuntime { child, program, .. }) if interrupt.is_asked() => {
            Program::Plain(*child).stop();
            let what = format!("'{program}' was stopped before a .NET runtime started in it");
            Err(Failure::new(Code::LaunchFailed, what).why("Ctrl+C or SIGTERM asked for it"))
        }
        Err(error) => {
            let failure = Failure::from(&error);
            let LaunchError::NoRuntime { child, .. } = error else { return Err(failure) };
            let program = Program::Plain(*child);
            if let Some((pid, _)) = seen {
                return Ok((program, find(pid, &Options::default())?));
            }
            program.stop();
            Err(failure)
        }
    }
}

/// How long a runtime that has a socket may take to call our port. One that could call is given time, also on a
/// busy machine: it is suspended, and without us it would stay so.
fn time_to_call(pid: ProcessId) -> Duration {
    let version = Process::new(pid).runtime_mark().and_then(|mark| mark.version());
    if version.is_some_and(|version| version.starts_with("3.")) { CALL_OF_OLD } else { CALL }
}

/// The process with a runtime in it, and with its socket, among the program and all that it started.
fn runtime_in(program: ProcessId) -> Option<ProcessId> {
    let parent = |pid: ProcessId| Process::new(pid).stat().ok().map(|stat| (pid, stat.parent));
    let parents: Vec<(ProcessId, u32)> = process_ids().ok()?.into_iter().filter_map(parent).collect();
    let mut family = vec![program];
    let mut next = 0;
    while let Some(&one) = family.get(next) {
        family.extend(parents.iter().filter(|(_, parent)| *parent == one.0).map(|(pid, _)| *pid));
        next += 1;
    }
    family.into_iter().find(|&pid| {
        Process::new(pid).runtime_mark().is_some()
            && find(pid, &quick()).is_ok_and(|process| process.endpoint.is_some())
    })
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
