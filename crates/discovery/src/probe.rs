//! Asking a runtime who it is, before its deadline.

use std::io::ErrorKind;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use diagnostics_ipc::{Client, Deadline, Endpoint, IpcError, Transport};
use process_view::{Process, TaskState};

use crate::describe::fill_from_kernel;
use crate::process::{DotnetProcess, Reach};

/// Asks the process at the socket of `found` what it is. The endpoint checks that the right one listens.
pub(crate) fn probe(found: &mut DotnetProcess, timeout: Duration) {
    let Some(endpoint) = found.endpoint.clone() else { return };
    found.reach = match ask(found, endpoint, timeout) {
        Ok(reach) => reach,
        Err(error) => reach_of(&error, timeout),
    };
    if found.visible {
        fill_from_kernel(found, &Process::new(found.pid));
    }
}

fn ask(found: &mut DotnetProcess, endpoint: Endpoint, timeout: Duration) -> Result<Reach, IpcError> {
    if found.state == Some(TaskState::Stopped) {
        // It cannot answer, so do not wait for it; whether this user may connect at all is still worth knowing.
        endpoint.connect(&Deadline::after(timeout))?;
        return Ok(Reach::NoAnswer { waited: Duration::ZERO });
    }
    match Client::new(endpoint).with_timeout(timeout).process_info() {
        Ok(info) => {
            if let Some(assembly) = &info.entry_assembly {
                found.name.clone_from(assembly);
            }
            // Some runtimes append the commit they were built from.
            found.runtime_version = info.runtime_version.as_deref().map(without_commit);
            found.architecture = Some(info.architecture.clone());
            found.runtime_identifier.clone_from(&info.runtime_identifier);
            if found.command_line.is_empty() {
                found.command_line.clone_from(&info.command_line);
            }
            found.info = Some(info);
            Ok(Reach::Ready)
        }
        // .NET Core 3.1 knows no such question; that it answers at all is what counts.
        Err(error) if error.is_unknown_command() => Ok(Reach::Ready),
        Err(error) => Err(error),
    }
}

fn without_commit(version: &str) -> String {
    version.split(['+', ' ']).next().unwrap_or(version).to_owned()
}

fn reach_of(error: &IpcError, timeout: Duration) -> Reach {
    match error {
        IpcError::NoAnswer { waited, .. } => Reach::NoAnswer { waited: *waited },
        IpcError::Connect { source, .. } => match source.kind() {
            ErrorKind::PermissionDenied => Reach::Forbidden,
            ErrorKind::TimedOut => Reach::NoAnswer { waited: timeout },
            _ => Reach::Broken { problem: error.to_string() },
        },
        _ => Reach::Broken { problem: error.to_string() },
    }
}

/// Asks all of them at once: one that hangs holds up only itself.
pub(crate) fn probe_all(found: &mut [DotnetProcess], timeout: Duration) {
    /// Each waits most of the time, so many threads cost little.
    const MOST_AT_ONCE: usize = 256;
    let workers = found.len().min(MOST_AT_ONCE);
    let queue = Mutex::new(found.iter_mut());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(process) = next() {
            probe(process, timeout);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // A container may allow us few threads: those that there are do the work.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
}

/// Whether a process has ended, or its pid has gone to another, since it was found.
pub(crate) fn is_gone(found: &DotnetProcess) -> bool {
    let process = Process::new(found.pid);
    found.visible
        && (!process.is_alive() || process.stat().ok().map(|stat| stat.start_ticks) != found.start_ticks)
}
