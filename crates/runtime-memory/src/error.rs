//! Why the memory of a process gives no names.

use std::io;

use model::ProcessId;
use thiserror::Error;

/// Why the memory of a process gives no names.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The process ended, or never was.
    #[error("process {pid} does not exist (any more)")]
    Vanished {
        /// Which process.
        pid: ProcessId,
    },
    /// This user may not read the memory of the process.
    #[error(
        "the memory of process {pid} may not be read by this user; run as root or with CAP_SYS_PTRACE, or as the user of the \
         process where kernel.yama.ptrace_scope is 0"
    )]
    Denied {
        /// Which process.
        pid: ProcessId,
    },
    /// The kernel refused for another reason.
    #[error("the memory of process {pid} cannot be read: {source}")]
    Io {
        /// Which process.
        pid: ProcessId,
        /// What the kernel said.
        source: io::Error,
    },
    /// No .NET runtime is loaded, or not yet.
    #[error("process {pid} has no .NET runtime in its memory; if it has just started, try again")]
    NoRuntime {
        /// Which process.
        pid: ProcessId,
    },
    /// The runtime does not describe itself: .NET 8 and older.
    #[error(
        "the runtime of process {pid} ({file}) does not describe its memory, which .NET 9 and newer do; names need its \
         diagnostics port"
    )]
    TooOld {
        /// Which process.
        pid: ProcessId,
        /// The file with the runtime.
        file: String,
    },
    /// The machine code is of a kind that is not known here.
    #[error(
        "the runtime of process {pid} is not for x64: its memory is not understood; names need its diagnostics port"
    )]
    Architecture {
        /// Which process.
        pid: ProcessId,
    },
    /// The runtime's description of itself is of another kind than those of .NET 9 and 10.
    #[error(
        "the runtime's description of its memory is of an unknown kind: {what}; names need its diagnostics port"
    )]
    Unknown {
        /// What is other.
        what: String,
    },
    /// The description is damaged, or cannot be read.
    #[error("the runtime's description of its memory is damaged: {what}")]
    Damaged {
        /// What is wrong with it.
        what: &'static str,
    },
}

impl Error {
    pub(crate) fn from_io(pid: ProcessId, source: io::Error) -> Error {
        // ESRCH: the process ended in between.
        const ESRCH: i32 = 3;
        match source.kind() {
            io::ErrorKind::NotFound => Error::Vanished { pid },
            io::ErrorKind::PermissionDenied => Error::Denied { pid },
            _ if source.raw_os_error() == Some(ESRCH) => Error::Vanished { pid },
            _ => Error::Io { pid, source },
        }
    }
}
