//! `--diagnostic-port`: a runtime that calls us, or one whose socket is known.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diagnostics_ipc::{Client, Deadline, Endpoint, PortServer, Welcome};
use discovery::{Options, find};
use model::ProcessId;

use super::Target;
use crate::control::Interrupt;
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output::to_stderr;

/// How often a signal is looked for while we wait for a call.
const GLANCE: Duration = Duration::from_millis(100);
/// How long a runtime may take to say what it is.
const ANSWER: Duration = Duration::from_secs(10);

/// Waits for a call at a path, or connects to it if `,connect` stands behind it.
pub fn reach(text: &str, resume: bool, interrupt: &Interrupt) -> Result<Target, Failure> {
    match text.rsplit_once(',') {
        Some((path, "connect")) => connect(Path::new(path)),
        Some((path, "listen")) => listen(Path::new(path), resume, interrupt),
        None => listen(Path::new(text), resume, interrupt),
        Some((_, word)) => {
            Err(Failure::new(Code::BadParameter, format!("--diagnostic-port: '{word}' is no mode"))
                .next("PATH waits for a runtime to call; PATH,connect connects to one that listens"))
        }
    }
}

fn connect(path: &Path) -> Result<Target, Failure> {
    let client = Client::new(Endpoint::at(path));
    let info = client.process_info().map_err(|error| {
        Failure::new(Code::NoAnswer, format!("no runtime answers at {}: {error}", path.display())).next(
            "PATH is the socket of a running runtime: dotnet-diagnostic-PID-...-socket in its temp folder",
        )
    })?;
    let pid = u32::try_from(info.pid).unwrap_or(0);
    target(ProcessId(pid), client, None, false)
}

fn listen(path: &Path, resume: bool, interrupt: &Interrupt) -> Result<Target, Failure> {
    let first = AtomicBool::new(true);
    let server = PortServer::start(path, move |_| {
        // The first one is recorded; others must not wait for ever.
        if first.swap(false, Ordering::AcqRel) { Welcome::Hold } else { Welcome::Resume }
    });
    let server = server.map_err(|error| {
        Failure::new(Code::Disk, format!("making the socket {}: {error}", path.display()))
            .next("the path must not exist yet, and have at most 107 bytes")
    })?;
    to_stderr(&format!(
        "waiting for a runtime: start the program with DOTNET_DiagnosticPorts={}\n",
        path.display()
    ));
    let runtime = loop {
        if let Some(runtime) = server.wait_for(&Deadline::after(GLANCE), |seen| seen.welcome == Welcome::Hold)
        {
            break runtime;
        }
        if interrupt.is_asked() {
            return Err(Failure::new(
                Code::LaunchFailed,
                "no runtime has called until the end was asked for",
            ));
        }
    };
    let pid = runtime.visible_pid.ok_or_else(|| {
        Failure::new(
            Code::Unsupported,
            "the runtime that called runs in a pid namespace that cannot be seen from here",
        )
    })?;
    let client = server.client(runtime.cookie);
    target(pid, client, Some(server), resume)
}

fn target(
    pid: ProcessId,
    client: Client,
    port: Option<PortServer>,
    is_held: bool,
) -> Result<Target, Failure> {
    let process = find(pid, &Options { timeout: ANSWER })?;
    Ok(Target { process, client, program: None, _port: port, is_held })
}
