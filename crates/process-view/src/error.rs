//! Why a fact about a process is not to be had.

use std::io;

use model::ProcessId;
use thiserror::Error;

/// Why a fact about a process is not to be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The process ended, or never was.
    #[error("process {pid} does not exist (any more)")]
    Vanished {
        /// Which process.
        pid: ProcessId,
    },
    /// This user may not read it.
    #[error("{path}: permission denied")]
    Denied {
        /// What was to be read.
        path: String,
    },
    /// The kernel's text is not what it should be.
    #[error("{path}: cannot read the {field}")]
    Malformed {
        /// What was read.
        path: String,
        /// Which part made no sense.
        field: &'static str,
    },
    /// Any other failure.
    #[error("{path}: {source}")]
    Io {
        /// What was to be read.
        path: String,
        /// What the kernel said.
        source: io::Error,
    },
}

impl ViewError {
    pub(crate) fn from_io(pid: ProcessId, path: impl Into<String>, error: io::Error) -> Self {
        // ESRCH: the process ended between open and read, or has no such thing (kernel threads).
        const ESRCH: i32 = 3;
        match error.kind() {
            io::ErrorKind::NotFound => ViewError::Vanished { pid },
            _ if error.raw_os_error() == Some(ESRCH) => ViewError::Vanished { pid },
            io::ErrorKind::PermissionDenied => ViewError::Denied { path: path.into() },
            _ => ViewError::Io { path: path.into(), source: error },
        }
    }
}
