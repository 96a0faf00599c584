//! `-- command`: starting a program, looking at it, and stopping it again.
//!
//! The program is a process group, and whatever ends us in order ends the group. When this tool itself is killed
//! (SIGKILL), the kernel ends the direct child only: what a shell has started for us stays.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use diagnostics_ipc::{LaunchError, Launched, launch};
use discovery::{DotnetProcess, FindError, Options, Reach, find};
use model::ProcessId;
use process_view::{Process, process_ids};
use reports::printable;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::control::Interrupt;
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output;
use crate::redaction::shown;

/// How long a program may take until its runtime shows up.
const START: Duration = Duration::from_secs(30);
/// After this time without a runtime the user is told what we are waiting for.
const SILENCE: Duration = Duration::from_secs(2);
/// A runtime that has a socket but has not called by then is too old to call (3.1), or cannot reach us.
const CALL: Duration = Duration::from_secs(10);
/// The same when it is known to be too old.
const CALL_OF_OLD: Duration = Duration::from_millis(200);
/// How long a program may take to end after SIGTERM.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long a runtime may take to say what it is: one process is asked with patience.
const ANSWER: Duration = Duration::from_secs(3);
/// How often we look whether an old runtime has started.
const LOOK: Duration = Duration::from_millis(200);
/// How often a program is looked at that is to end.
const GLANCE: Duration = Duration::from_millis(20);

/// A program that we started. It is ended, with its process group, when this is dropped.
pub enum Program {
    /// Its runtime called our port, which stays open for .NET children of the program.
    Ported(Box<Launched>),
    /// Its runtime is too old to call a port.
    Plain(Child),
}

/// Where the program's output goes, and its input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramIo {
    /// To our standard error: our standard output is for the answer.
    ToStandardError,
    /// Nowhere.
    Hidden,
    /// As ours, but a terminal is not read from.
    Shared,
}

/// Whether the program runs when it is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handover {
    Running,
    /// Its runtime stands before the first line of managed code, until [`Program::resume`].
    Held,
}

/// Starts a program and waits until a .NET runtime runs in it.
pub fn start(command: &[OsString], interrupt: &Interrupt) -> Result<(Program, DotnetProcess), Failure> {
    start_with(command, ProgramIo::ToStandardError, Handover::Running, interrupt)
}

/// Starts a program and waits until a .NET runtime in it stands before the first line of managed code. A runtime that
/// is too old for that (3.1) runs already.
pub fn start_held(
    command: &[OsString],
    io: ProgramIo,
    interrupt: &Interrupt,
) -> Result<(Program, DotnetProcess), Failure> {
    start_with(command, io, Handover::Held, interrupt)
}

fn start_with(
    command: &[OsString],
    io: ProgramIo,
    handover: Handover,
    interrupt: &Interrupt,
) -> Result<(Program, DotnetProcess), Failure> {
    let [program, arguments @ ..] = command else {
        return Err(Failure::new(Code::LaunchFailed, "no program was given after --"));
    };
    let name = printable(&program.to_string_lossy());
    let started = Instant::now();
    let mut seen: Option<(ProcessId, Instant)> = None;
    let mut last_look: Option<Instant> = None;
    let mut told = false;
    // Without a limit of its own: a runtime that shows up late has its full time to call.
    let launched = launch(prepare(program, arguments, io)?, Duration::MAX, |child| {
        // Our own port is the usual way; a socket without a call means an old runtime.
        if seen.is_none() && last_look.is_none_or(|moment| moment.elapsed() > LOOK) {
            seen = runtime_in(ProcessId(child.id())).map(|pid| (pid, Instant::now()));
            last_look = Some(Instant::now());
        }
        if seen.is_none() && !told && started.elapsed() > SILENCE {
            output::to_stderr(&format!("waiting for a .NET runtime in '{name}' (Ctrl+C stops it)\n"));
            told = true;
        }
        interrupt.is_asked()
            || match seen {
                Some((pid, moment)) => moment.elapsed() > time_to_call(pid),
                None => started.elapsed() > START,
            }
    });
    match launched {
        Ok(launched) => begin(launched, handover),
        Err(LaunchError::NoRuntime { child, program, .. }) if interrupt.is_asked() => {
            Program::Plain(*child).stop();
            let what = format!("'{program}' was stopped before a .NET runtime started in it");
            Err(Failure::new(Code::LaunchFailed, what).why("Ctrl+C, SIGTERM or SIGHUP asked for it"))
        }
        Err(error) => {
            let failure = Failure::from(&error);
            let LaunchError::NoRuntime { child, program: name, port, .. } = error else {
                return Err(failure);
            };
            let program = Program::Plain(*child);
            let Some((pid, _)) = seen else {
                program.stop();
                return Err(failure);
            };
            let process = shown(find(pid, &patient())?);
            if cannot_call(&process) {
                return Ok((program, process));
            }
            // It is suspended and would stay so: there is nothing to measure.
            program.stop();
            Err(Failure::port_out_of_reach(&name, &port))
        }
    }
}

/// How long a runtime that has a socket may take to call our port. One that could call is given time, also on a
/// busy machine: it is suspended, and without us it would stay so.
fn time_to_call(pid: ProcessId) -> Duration {
    if is_known_old(pid) == Some(true) { CALL_OF_OLD } else { CALL }
}

/// Whether it is a .NET Core 3.x by the folder of its library; `None` when the folder does not tell.
fn is_known_old(pid: ProcessId) -> Option<bool> {
    let version = Process::new(pid).runtime_mark()?.version()?;
    Some(version.starts_with("3."))
}

/// Whether its runtime is too old to call a port, and so runs without us.
fn cannot_call(process: &DotnetProcess) -> bool {
    // A program that brings its runtime along has it in any folder; but only an old one answers and cannot say
    // what it is.
    is_known_old(process.pid)
        .unwrap_or_else(|| matches!(process.reach, Reach::Ready) && process.info.is_none())
}

/// The process with a runtime in it, and with its socket, among the program and all that it started.
fn runtime_in(program: ProcessId) -> Option<ProcessId> {
    family(program).into_iter().find(|&pid| {
        Process::new(pid).runtime_mark().is_some()
            && find(pid, &quick()).is_ok_and(|process| process.endpoint.is_some())
    })
}

/// A process, and all that it started and they started, as far as they live.
pub fn family(first: ProcessId) -> Vec<ProcessId> {
    let parent = |pid: ProcessId| Process::new(pid).stat().ok().map(|stat| (pid, stat.parent));
    let parents: Vec<(ProcessId, u32)> =
        process_ids().unwrap_or_default().into_iter().filter_map(parent).collect();
    let mut family = vec![first];
    let mut next = 0;
    while let Some(&one) = family.get(next) {
        family.extend(parents.iter().filter(|(_, parent)| *parent == one.0).map(|(pid, _)| *pid));
        next += 1;
    }
    family
}

fn quick() -> Options {
    Options { timeout: Duration::from_millis(50) }
}

fn patient() -> Options {
    Options { timeout: ANSWER }
}

fn prepare(program: &OsString, arguments: &[OsString], io: ProgramIo) -> Result<Command, Failure> {
    let stderr = || -> Result<Stdio, Failure> {
        let copy = std::io::stderr().as_fd().try_clone_to_owned();
        copy.map(Stdio::from).map_err(|error| Failure::new(Code::Unexpected, error.to_string()))
    };
    let mut command = Command::new(program);
    command.args(arguments);
    match io {
        ProgramIo::ToStandardError => command.stdin(Stdio::null()).stdout(stderr()?).stderr(stderr()?),
        ProgramIo::Hidden => command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()),
        // It is no part of the terminal's foreground, so to read from the terminal would stop it.
        ProgramIo::Shared if std::io::stdin().is_terminal() => command.stdin(Stdio::null()),
        ProgramIo::Shared => &mut command,
    };
    Ok(command)
}

fn begin(launched: Launched, handover: Handover) -> Result<(Program, DotnetProcess), Failure> {
    let pid = launched.runtime.visible_pid;
    let program = Program::Ported(Box::new(launched));
    if handover == Handover::Running {
        program.resume()?;
    }
    // The pid that it knows itself by may be another process here.
    let pid = pid.ok_or_else(|| {
        Failure::new(Code::LaunchFailed, "the program runs in a pid namespace that cannot be seen from here")
    })?;
    let process = find(pid, &patient()).map_err(|error| match error {
        FindError::NoSuchProcess { .. } => Failure::new(Code::TargetEnded, "the program ended at once")
            .next("start it by hand to see what it says"),
        error => error.into(),
    })?;
    Ok((program, shown(process)))
}

impl Program {
    fn child(&mut self) -> &mut Child {
        match self {
            Program::Ported(launched) => &mut launched.child,
            Program::Plain(child) => child,
        }
    }

    /// Lets a program run that was held.
    pub fn resume(&self) -> Result<(), Failure> {
        let Program::Ported(launched) = self else { return Ok(()) };
        let failed = |error| Failure::new(Code::LaunchFailed, format!("letting the program run: {error}"));
        launched.resume().map_err(failed)
    }

    /// How it ended, if it does so within this time.
    pub fn wait_for_end(&mut self, time: Duration) -> Option<ExitStatus> {
        let begin = Instant::now();
        loop {
            match self.child().try_wait() {
                Ok(None) if begin.elapsed() < time => std::thread::sleep(GLANCE),
                outcome => return outcome.ok().flatten(),
            }
        }
    }

    /// Ends it, and says how it ended.
    pub fn farewell(self) {
        match self.stop() {
            Some(status) => output::to_stderr(&format!("the program ended by itself ({status})\n")),
            None => output::to_stderr("stopped the program that was started for this\n"),
        }
    }

    /// Ends it, politely first. Returns how it ended if it had ended by itself.
    pub fn stop(mut self) -> Option<ExitStatus> {
        let ended = self.child().try_wait().ok().flatten();
        self.signal(Signal::TERM);
        let asked = Instant::now();
        while asked.elapsed() < FAREWELL && !self.has_ended() {
            std::thread::sleep(GLANCE);
        }
        ended
    }

    /// Whether all of it has ended: a shell goes at once, what it has started may still be saving its data.
    fn has_ended(&mut self) -> bool {
        // The child is collected by this; until then it would count as one of its group.
        !matches!(self.child().try_wait(), Ok(None)) && self.group().is_none_or(|group| !is_alive(group))
    }

    fn group(&mut self) -> Option<Pid> {
        i32::try_from(self.child().id()).ok().and_then(Pid::from_raw)
    }

    /// To the whole group: a shell or launcher may stand between us and the program.
    fn signal(&mut self, signal: Signal) {
        let _ = self.group().map(|group| kill_process_group(group, signal));
    }
}

/// Whether a process group has a living process.
fn is_alive(group: Pid) -> bool {
    if test_kill_process_group(group) == Err(Errno::SRCH) {
        return false;
    }
    // In a container whose first process collects nobody, ended processes stay in their group for ever.
    process_ids().map_or(true, |pids| pids.into_iter().any(|pid| lives_in(pid, group) == Some(true)))
}

/// Whether a process lives and belongs to a group. `getpgid` of rustix would not do: processes of the kernel, and
/// those that came from outside our namespace, are in a group 0, at which it panics.
fn lives_in(pid: ProcessId, group: Pid) -> Option<bool> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // After the name, which may hold anything: state, parent, group.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    Some(!ended && fields.nth(1)?.parse() == Ok(group.as_raw_nonzero().get()))
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child().wait();
    }
}
