//! Starting a program so that its runtime waits for us before it runs a line of managed code.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;

use super::port::{PortServer, RuntimeSeen, Welcome, diagnostic_ports_variable};
use crate::{Client, Deadline, IpcError};

/// How often the child and the port are looked at.
const GLANCE: Duration = Duration::from_millis(20);
/// Name of the port's socket in its folder.
const SOCKET: &str = "port.sock";
/// Longest folder for it: a socket's path has at most 107 bytes.
const LONGEST_FOLDER: usize = 107 - "/".len() - SOCKET.len();
/// The variable by which runtimes learn of the port.
const PORTS: &str = "DOTNET_DiagnosticPorts";

/// Why a program could not be started under our eyes.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// It did not start.
    #[error("starting '{program}': {source}")]
    Spawn {
        /// What was to be started.
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The socket for it could not be made.
    #[error("making a socket for the program to call: {source}")]
    Port {
        /// What the operating system said.
        source: io::Error,
    },
    /// It ended before a .NET runtime showed up.
    #[error("'{program}' ended ({status}) before a .NET runtime started in it")]
    Ended {
        /// What was started.
        program: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// It runs, but no .NET runtime showed up.
    #[error("no .NET runtime started in '{program}' within {waited:.0?}")]
    NoRuntime {
        /// What was started.
        program: String,
        /// How long we waited.
        waited: Duration,
        /// The socket that its runtime was to call.
        port: PathBuf,
        /// The running program, for the caller to keep or to end.
        child: Box<Child>,
    },
    /// The runtime did not do as it was told.
    #[error(transparent)]
    Ipc(#[from] IpcError),
}

/// A program whose first runtime is suspended at its start.
pub struct Launched {
    /// The program; a launcher or a shell may stand between it and the runtime.
    pub child: Child,
    /// The runtime that is held.
    pub runtime: RuntimeSeen,
    /// Sends commands to it.
    pub client: Client,
    /// The port. Children of the program call it too, and are resumed at once.
    pub port: PortServer,
    /// The ports that the user had given the program before.
    theirs: Option<OsString>,
    // Removed last: the port's socket lies in it.
    _folder: tempfile::TempDir,
}

impl Launched {
    /// Lets the program run. Before that, its own setting is changed so that .NET children it starts will not
    /// wait for a port: they must not hang when this tool has ended by then. (.NET 5 cannot be told; its
    /// children are resumed by the port as long as it serves.)
    ///
    /// A port of the user's own that suspends has to be resumed by its own tool as well: the runtime waits for
    /// every such port.
    pub fn resume(&self) -> Result<(), IpcError> {
        let ports = with_port(self.theirs.as_deref(), self.port.path(), false);
        // Not lossy for the runtime: it has read the variable as text as well.
        match self.client.set_environment_variable(PORTS, &ports.to_string_lossy()) {
            Err(error) if !error.is_unknown_command() => return Err(error),
            _ => {}
        }
        self.client.resume_runtime()
    }
}

/// Starts `command` with a diagnostic port of its own and waits until its first runtime stands suspended.
/// The direct child ends with the calling thread, so that a tool that is killed does not leave it suspended. This
/// does not reach further: behind a shell or a launcher a suspended runtime would stay. Ports that the user has
/// given the program stay as they are, and ours is added.
/// `give_up` is asked now and then whether to stop waiting early, for example because the caller sees a
/// runtime that is too old to call a port.
pub fn launch(
    mut command: Command,
    timeout: Duration,
    mut give_up: impl FnMut(&Child) -> bool,
) -> Result<Launched, LaunchError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let port_error = |source| LaunchError::Port { source };
    let folder = folder_for_port().map_err(port_error)?;
    let socket = folder.path().join(SOCKET);
    let first = std::sync::atomic::AtomicBool::new(true);
    let port = PortServer::start(&socket, move |_| {
        // The first runtime is the one that was asked for; what it starts later must not wait.
        if first.swap(false, std::sync::atomic::Ordering::AcqRel) { Welcome::Hold } else { Welcome::Resume }
    })
    .map_err(port_error)?;
    let theirs = ports_of(&command);
    command.env(PORTS, with_port(theirs.as_deref(), &socket, true));
    // A group of its own: Ctrl+C at the terminal is for us, and we decide what becomes of the program.
    command.process_group(0);
    // A tool that is killed while it holds the direct child would leave it suspended for ever.
    super::sys::end_with_this_thread(&mut command);
    let mut child =
        command.spawn().map_err(|source| LaunchError::Spawn { program: program.clone(), source })?;

    let started = Instant::now();
    loop {
        if let Some(runtime) = port.wait_for(&Deadline::after(GLANCE), |seen| seen.welcome == Welcome::Hold) {
            let client = port.client(runtime.cookie);
            return Ok(Launched { child, runtime, client, port, theirs, _folder: folder });
        }
        if let Ok(Some(status)) = child.try_wait() {
            // What it has left running would wait for ever for a port that is gone.
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let _ = group.map(|group| kill_process_group(group, Signal::KILL));
            return Err(LaunchError::Ended { program, status });
        }
        if started.elapsed() > timeout || give_up(&child) {
            return Err(LaunchError::NoRuntime {
                program,
                waited: started.elapsed(),
                port: socket,
                child: Box::new(child),
            });
        }
    }
}

/// The ports that the program would get without us.
fn ports_of(command: &Command) -> Option<OsString> {
    let changed = command.get_envs().find(|(name, _)| *name == PORTS);
    let value = match changed {
        Some((_, value)) => value.map(OsStr::to_owned),
        None => std::env::var_os(PORTS),
    };
    value.filter(|value| !value.is_empty())
}

/// The value of the variable with the user's own ports, unchanged, and ours.
fn with_port(theirs: Option<&OsStr>, socket: &Path, suspend: bool) -> OsString {
    let mut ports = theirs.map(OsStr::to_owned).unwrap_or_default();
    if !ports.is_empty() {
        ports.push(";");
    }
    ports.push(diagnostic_ports_variable(socket, suspend));
    ports
}

/// A private folder in the temp folder, or in `/tmp` when a port there could not be named: its path would be too
/// long for a socket, or hold what separates the parts of the variable.
fn folder_for_port() -> io::Result<tempfile::TempDir> {
    let make = |parent: &Path| tempfile::Builder::new().prefix("drdotnet-").tempdir_in(parent);
    let folder = make(&std::env::temp_dir())?;
    if can_hold_port(folder.path()) { Ok(folder) } else { make(Path::new("/tmp")) }
}

fn can_hold_port(folder: &Path) -> bool {
    folder.is_absolute()
        && folder.as_os_str().len() <= LONGEST_FOLDER
        && folder.to_str().is_some_and(|path| !path.contains([',', ';']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_the_variable_cannot_name_holds_no_port() {
        assert!(can_hold_port(Path::new("/tmp/drdotnet-a1B2c3")));
        for folder in ["/tmp/a,b", "/tmp/a;b", "tmp", &format!("/{}", "x".repeat(97))] {
            assert!(!can_hold_port(Path::new(folder)), "{folder}");
        }
    }
}
