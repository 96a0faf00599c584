//! Why there is no dump.

use std::path::PathBuf;
use std::time::Duration;

use diagnostics_ipc::IpcError;
use thiserror::Error;

use crate::refusal::Refusal;

/// Why there is no dump.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The path cannot be given to a runtime.
    #[error("{0} cannot be a dump's path: {1}")]
    BadPath(PathBuf, &'static str),
    /// The folder is not there, as the target sees it.
    #[error("the process sees no folder {0}")]
    NoFolder(PathBuf),
    /// Something is there already.
    #[error("{0} is there already")]
    Exists(PathBuf),
    /// The folder cannot be written by anybody.
    #[error("{0} is on a read-only file system")]
    ReadOnly(PathBuf),
    /// The target's user may not write there.
    #[error("the process runs as {user}, who may not write to {folder}")]
    NotAllowed {
        /// Where.
        folder: PathBuf,
        /// Who.
        user: String,
    },
    /// The runtime's own program is not there.
    #[error("the runtime's program createdump is not at {0}")]
    NoDumper(PathBuf),
    /// The runtime's own program may not be run.
    #[error("the runtime's program {0} is not executable")]
    DumperNotRunnable(PathBuf),
    /// Nobody may trace, by the kernel's settings.
    #[error("the kernel lets no process be read: kernel.yama.ptrace_scope is {scope}")]
    TracingOff {
        /// The setting.
        scope: i32,
    },
    /// The runtime refused or failed.
    #[error("the runtime could not write the dump{}", refusal.words().map(|words| format!(": {words}")).unwrap_or_default())]
    Refused {
        /// What it said.
        refusal: Refusal,
    },
    /// The runtime said yes, and there is no file.
    #[error("the runtime reported success, but {0} is not there")]
    WroteNothing(PathBuf),
    /// The runtime said yes, and the file is empty.
    #[error("the runtime reported success, but {0} is empty")]
    Empty(PathBuf),
    /// No answer in time.
    #[error("no answer within {0:.0?}")]
    NoAnswer(Duration),
    /// The process ended in the middle.
    #[error("the process ended while it was writing its dump")]
    TargetEnded,
    /// The runtime could not be asked.
    #[error(transparent)]
    Ipc(IpcError),
}

/// A failure after the runtime was asked.
#[derive(Debug)]
pub struct Failed {
    /// Why.
    pub error: DumpError,
    /// Copies of the process that the runtime left behind.
    pub leftovers: Vec<u32>,
}
