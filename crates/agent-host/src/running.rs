//! Whether the process runs at all: what is stopped loads nothing, and would do so later, when nobody waits any more.

use std::fs;

use model::ProcessId;
use process_view::{Process, TaskState, ViewError};

use crate::AgentError;

/// An error if the process is stopped, held by a debugger, or over.
pub(crate) fn check(process: &Process) -> Result<(), AgentError> {
    use TaskState::{Dead, Stopped, Traced, Zombie};
    let stopped = |state| matches!(state, Stopped | Traced);
    let over = |state| matches!(state, Zombie | Dead);
    // Its first thread tells of most processes at once that they run.
    let first = process.stat()?.state;
    if !stopped(first) && !over(first) {
        return Ok(());
    }
    // One that has just ended is no matter.
    let states: Vec<_> =
        process.tasks()?.iter().filter_map(|task| task.stat().ok()).map(|stat| stat.state).collect();
    if states.iter().all(|state| over(*state)) {
        return Err(AgentError::Ended);
    }
    // A debugger may hold some threads and let others go on; that is its way to step, and soon over.
    if states.iter().all(|state| stopped(*state) || over(*state)) {
        return Err(AgentError::Stopped { by: tracer(process.id) });
    }
    Ok(())
}

/// Makes of an error that may come from a stop in the middle what it is.
pub(crate) fn explain(process: &Process, error: AgentError) -> AgentError {
    match (&error, check(process)) {
        (AgentError::Ipc(_) | AgentError::Silent { .. }, Err(found @ AgentError::Stopped { .. })) => found,
        (AgentError::Ipc(_) | AgentError::Silent { .. }, Err(AgentError::Ended)) => AgentError::Ended,
        (
            AgentError::Ipc(_) | AgentError::Silent { .. },
            Err(AgentError::View(ViewError::Vanished { .. })),
        ) => AgentError::View(ViewError::Vanished { pid: process.id }),
        _ => error,
    }
}

/// The debugger of a process.
fn tracer(pid: ProcessId) -> Option<ProcessId> {
    let thread = number(pid, "TracerPid:").filter(|thread| thread.0 != 0)?;
    // The kernel names the thread that traces.
    Some(number(thread, "Tgid:").unwrap_or(thread))
}

fn number(pid: ProcessId, key: &str) -> Option<ProcessId> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok().map(ProcessId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_has_no_debugger() {
        assert!(check(&Process::this()).is_ok());
        assert_eq!(tracer(Process::this().id), None);
    }
}
