//! One process, by pid or by name.

use model::ProcessId;
use process_view::{Clock, Process, TaskState, ViewError};
use thiserror::Error;

use crate::probe::is_gone;
use crate::process::DotnetProcess;
use crate::scan::{Options, look_at, scan};

/// Why there is no such process to look at.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FindError {
    /// No process has this pid.
    #[error("no process has pid {pid}")]
    NoSuchProcess {
        /// The pid.
        pid: ProcessId,
        /// .NET processes that there are.
        others: Vec<DotnetProcess>,
    },
    /// It has ended, but its parent has not collected it yet.
    #[error("process {pid} ({name}) has ended")]
    Ended {
        /// The pid.
        pid: ProcessId,
        /// What it was called.
        name: String,
        /// Its parent.
        parent: ProcessId,
    },
    /// It is no .NET process, as far as this user can see.
    #[error("process {pid} ({name}) is not a .NET process")]
    NotDotnet {
        /// The pid.
        pid: ProcessId,
        /// What it is called.
        name: String,
        /// Whether this user may look closely enough to be sure.
        sure: bool,
    },
    /// No .NET process has this name.
    #[error("no .NET process is named '{name}'")]
    NoSuchName {
        /// The name.
        name: String,
        /// .NET processes that there are.
        others: Vec<DotnetProcess>,
    },
    /// Several .NET processes have this name.
    #[error("{} .NET processes are named '{name}'", candidates.len())]
    Ambiguous {
        /// The name.
        name: String,
        /// Those processes.
        candidates: Vec<DotnetProcess>,
    },
}

/// The .NET process with this pid, asked and described, whether or not it can be reached. A pid that /proc does
/// not show may belong to a process that shares our temp folder from another pid namespace.
pub fn find(pid: ProcessId, options: &Options) -> Result<DotnetProcess, FindError> {
    if let Some((mut found, _)) = look_at(pid, &Clock::now())
        && found.endpoint.is_some()
    {
        crate::probe::probe(&mut found, options.timeout);
        if !is_gone(&found) {
            return Ok(found);
        }
    }
    // The whole machine knows more: a process whose clock differs from ours, or one that only shares our folder.
    let mut others = scan(options).processes;
    if let Some(index) = others.iter().position(|process| process.pid == pid) {
        return Ok(others.swap_remove(index));
    }
    match Process::new(pid).stat() {
        Ok(stat) if matches!(stat.state, TaskState::Zombie | TaskState::Dead) => {
            Err(FindError::Ended { pid, name: stat.name, parent: ProcessId(stat.parent) })
        }
        Ok(stat) => {
            let sure = !matches!(Process::new(pid).environment(), Err(ViewError::Denied { .. }));
            Err(FindError::NotDotnet { pid, name: stat.name, sure })
        }
        Err(_) => Err(FindError::NoSuchProcess { pid, others }),
    }
}

/// The one .NET process with this name: its entry assembly or its executable, in any case of letters.
pub fn find_by_name(name: &str, options: &Options) -> Result<DotnetProcess, FindError> {
    let (mut candidates, others): (Vec<_>, Vec<_>) =
        scan(options).processes.into_iter().partition(|process| is_named(process, name));
    match candidates.len() {
        0 => Err(FindError::NoSuchName { name: name.to_owned(), others }),
        1 => Ok(candidates.swap_remove(0)),
        _ => Err(FindError::Ambiguous { name: name.to_owned(), candidates }),
    }
}

fn is_named(process: &DotnetProcess, name: &str) -> bool {
    let executable = process.arguments.first().and_then(|path| path.rsplit('/').next());
    process.name.eq_ignore_ascii_case(name) || executable.is_some_and(|file| file.eq_ignore_ascii_case(name))
}
