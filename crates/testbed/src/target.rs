//! A running target.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::builder::{CommandLine, Subject, TargetBuilder};
use crate::error::TestbedError;
use crate::output::{Output, Waited};
use crate::process_table;
use crate::runtime::Runtime;
use crate::spawner;

/// What the stranger is asked so that its answer tells when it is up: the first message of its protocol.
const GREETING: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","#,
    r#""capabilities":{},"clientInfo":{"name":"testbed","version":"1"}}}"#,
    "\n"
);

/// Lines of output in an error.
const LINES_SHOWN: usize = 15;

/// How often a wait looks whether the process is still there.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long things may take that need no time: a forked child, the end of a killed process.
const MOMENT: Duration = Duration::from_secs(5);
/// How long the threads of a target may take to stop, also on a busy machine.
const STOPPING: Duration = Duration::from_secs(30);

/// A running .NET process. It is killed when this is dropped, and when the test process dies.
#[derive(Debug)]
pub struct Target {
    subject: Subject,
    /// What we started: the .NET process, or `unshare` around it.
    child: Mutex<Child>,
    pid: u32,
    /// The .NET process itself. Unlike its id, this cannot come to mean another process.
    handle: OwnedFd,
    stdout: Output,
    stderr: Output,
    before_ready: OnceLock<Vec<String>>,
    /// Held open: the stranger ends when it is closed.
    stdin: Mutex<Option<ChildStdin>>,
    left_behind: Vec<PathBuf>,
}

impl Target {
    pub(crate) fn spawn(builder: &TargetBuilder<'_>, line: &CommandLine) -> Result<Target, TestbedError> {
        let mut command = match builder.namespaces {
            None => Command::new(&line.program),
            Some(namespaces) => {
                let cache = builder.cache_dir();
                let wrapped = namespaces.wrap(&line.program, &line.args, builder.user, cache)?;
                let mut command = Command::new(wrapped.program);
                command.args(wrapped.args);
                command
            }
        };
        if builder.namespaces.is_none() {
            command.args(&line.args);
            if let Some((user, group)) = builder.user {
                command.uid(user).gid(group);
            }
        }
        line.apply_environment(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl+C at the terminal is for the tool, which may still want to finish its look at the target.
        command.process_group(0);

        let failed = |source| TestbedError::Spawn {
            program: line.program.display().to_string(),
            source,
            advice: match builder.user {
                Some(_) => "To become another user, root is needed, and a runtime that the user may read.",
                None => "Does this machine run programs for Linux x64 with glibc?",
            },
        };
        let mut child = spawner::spawn(command).map_err(failed)?;
        let mut stdin = child.stdin.take();
        if let (Subject::Stranger, Some(stdin)) = (&builder.subject, &mut stdin) {
            // If it cannot be written, the process has ended, and the wait for its answer will say so.
            let _ = stdin.write_all(GREETING.as_bytes());
        }
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(failed(io::Error::other("its output is not a pipe")));
        };
        let stdout = Output::read(stdout, "stdout").map_err(failed)?;
        let stderr = Output::read(stderr, "stderr").map_err(failed)?;

        let pid = match builder.namespaces {
            None => child.id(),
            Some(_) => match inner_process(&mut child) {
                Some(pid) => pid,
                None => return Err(died(&builder.subject, &mut child, &stdout, &stderr)),
            },
        };
        let handle = match open(pid) {
            Ok(handle) => handle,
            Err(_) => return Err(died(&builder.subject, &mut child, &stdout, &stderr)),
        };
        let left_behind =
            builder.temporary_folder(line).map(|folder| process_table::files_left_by(pid, &folder));
        Ok(Target {
            subject: builder.subject.clone(),
            child: Mutex::new(child),
            pid,
            handle,
            stdout,
            stderr,
            before_ready: OnceLock::new(),
            stdin: Mutex::new(stdin),
            left_behind: left_behind.unwrap_or_default(),
        })
    }

    /// Waits until the target says that it is ready. [`TargetBuilder::start`] has done that already.
    pub fn wait_ready(self, time: Duration) -> Result<Target, TestbedError> {
        let until = Instant::now() + time;
        let is_ready: fn(&str) -> bool = match self.subject {
            Subject::Patient { .. } => |line| line == "ready",
            Subject::Stranger => |line| line.contains(r#""jsonrpc""#),
        };
        let mut ended = None;
        while self.before_ready.get().is_none() {
            match self.stdout.wait_for(is_ready, until.min(Instant::now() + LOOK_AGAIN)) {
                Waited::Line(_) => {
                    let lines = self.stdout.lines().into_iter().take_while(|line| !is_ready(line)).collect();
                    let _ = self.before_ready.set(lines);
                }
                // A process that has ended gets one more look: its last lines may have come after the first.
                Waited::Closed | Waited::TimedOut if ended.is_some() => {
                    return Err(died(&self.subject, &mut self.child(), &self.stdout, &self.stderr));
                }
                Waited::Closed | Waited::TimedOut => {
                    ended = self.child().try_wait().ok().flatten();
                    if ended.is_none() && Instant::now() >= until {
                        return Err(TestbedError::NotReady {
                            target: self.subject.name(),
                            waited: time,
                            output: last_output(&self.stdout, &self.stderr),
                        });
                    }
                    if ended.is_none() {
                        // A closed pipe returns at once, and a process needs a moment to end after closing it.
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            }
        }
        Ok(self)
    }

    /// The process id of the .NET process as this process sees it, also when it is inside namespaces.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The runtime it runs on.
    pub fn runtime(&self) -> Runtime {
        self.subject.runtime()
    }

    /// What it printed before it was ready.
    pub fn lines_before_ready(&self) -> &[String] {
        self.before_ready.get().map_or(&[], Vec::as_slice)
    }

    /// The value of a line like `port 8080` or `port=8080` that it printed before it was ready.
    pub fn value_of(&self, name: &str) -> Option<&str> {
        self.lines_before_ready().iter().find_map(|line| {
            line.strip_prefix(name)?.strip_prefix([' ', '=', ':']).map(|value| value.trim_start())
        })
    }

    /// Waits for a line that begins with `prefix` and was not returned before.
    pub fn wait_for_line(&self, prefix: &str, time: Duration) -> Result<String, TestbedError> {
        match self.stdout.wait_for(|line| line.starts_with(prefix), Instant::now() + time) {
            Waited::Line(line) => Ok(line),
            Waited::TimedOut | Waited::Closed => Err(TestbedError::NoSuchLine {
                target: self.subject.name(),
                prefix: prefix.to_owned(),
                waited: time,
                output: last_output(&self.stdout, &self.stderr),
            }),
        }
    }

    /// Writes to its standard input: a request to the stranger, in its protocol.
    pub fn say(&self, text: &str) -> Result<(), TestbedError> {
        let mut stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match stdin.as_mut() {
            Some(stdin) => stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        written.map_err(|source| self.control_error("write to", source))
    }

    /// What it printed on standard error so far.
    pub fn stderr_text(&self) -> String {
        self.stderr.lines().join("\n")
    }

    /// Whether it has not ended.
    pub fn is_alive(&self) -> bool {
        !self.has_ended_within(Duration::ZERO)
    }

    /// Stops it (SIGSTOP) until [`Target::resume`], and waits until its last thread has stopped.
    pub fn suspend(&self) -> Result<(), TestbedError> {
        self.signal("suspend", Signal::STOP)?;
        let until = Instant::now() + STOPPING;
        while !process_table::is_stopped(self.pid) {
            if Instant::now() > until {
                return Err(self.control_error("suspend", io::ErrorKind::TimedOut.into()));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&self) -> Result<(), TestbedError> {
        self.signal("resume", Signal::CONT)
    }

    /// Asks it to end (SIGTERM).
    pub fn terminate(&self) -> Result<(), TestbedError> {
        self.signal("terminate", Signal::TERM)
    }

    /// Ends it (SIGKILL).
    pub fn kill(&self) -> Result<(), TestbedError> {
        self.signal("kill", Signal::KILL)
    }

    /// Waits until it has ended.
    pub fn wait_exit(&self, time: Duration) -> Result<ExitStatus, TestbedError> {
        if !self.has_ended_within(time) {
            return Err(TestbedError::StillRunning { target: self.subject.name(), waited: time });
        }
        // `unshare`, if that is what we started, ends right after the process inside.
        self.child().wait().map_err(|source| self.control_error("wait for", source))
    }

    fn has_ended_within(&self, time: Duration) -> bool {
        let Ok(timeout) = Timespec::try_from(time) else {
            return false;
        };
        let mut handles = [PollFd::new(&self.handle, PollFlags::IN)];
        poll(&mut handles, Some(&timeout)).is_ok_and(|ready| ready > 0)
    }

    fn signal(&self, action: &'static str, signal: Signal) -> Result<(), TestbedError> {
        pidfd_send_signal(&self.handle, signal).map_err(|error| self.control_error(action, error.into()))
    }

    fn control_error(&self, action: &'static str, source: io::Error) -> TestbedError {
        TestbedError::Control { action, target: self.subject.name(), source }
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // The process inside first: the end of process 1 ends everything in its namespace.
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
        let mut child = self.child();
        // `unshare` gets the time to reap its child. Without it the corpse would be left to whoever adopts it.
        let until = Instant::now() + MOMENT;
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = child.kill();
        let _ = child.wait();
        drop(child);
        for file in &self.left_behind {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn open(pid: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// The process that `unshare` started, which becomes the .NET process by `exec`.
fn inner_process(unshare: &mut Child) -> Option<u32> {
    let until = Instant::now() + MOMENT;
    while Instant::now() < until {
        if let Some(pid) = process_table::first_child_of(unshare.id()) {
            return Some(pid);
        }
        if unshare.try_wait().ok()?.is_some() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    None
}

/// The error for a process that is gone or going. What it said last may still be in the pipes.
fn died(subject: &Subject, child: &mut Child, stdout: &Output, stderr: &Output) -> TestbedError {
    let _ = child.kill();
    let until = Instant::now() + Duration::from_secs(1);
    for output in [stdout, stderr] {
        output.wait_for(|_| false, until);
    }
    match child.wait() {
        Ok(status) => TestbedError::DiedBeforeReady {
            target: subject.name(),
            status,
            output: last_output(stdout, stderr),
        },
        Err(source) => TestbedError::Control { action: "wait for", target: subject.name(), source },
    }
}

fn last_output(stdout: &Output, stderr: &Output) -> String {
    let text = stderr.tail("standard error", LINES_SHOWN) + &stdout.tail("standard output", LINES_SHOWN);
    if text.is_empty() { "  It printed nothing.".to_owned() } else { text.trim_end().to_owned() }
}
