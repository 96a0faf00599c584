//! Why a command did not succeed.

use std::io;
use std::time::Duration;

use model::ProcessId;
use thiserror::Error;

use crate::{Command, HResult};

/// Why a command did not succeed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IpcError {
    /// Nobody could be reached at the socket.
    #[error("connecting to {address}: {source}")]
    Connect {
        /// Where.
        address: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// Somebody else listens at the socket of the process that was meant.
    #[error("{address}: {} listens there instead of process {expected}", shown(*listener))]
    Impostor {
        /// Where.
        address: String,
        /// The process that was meant.
        expected: ProcessId,
        /// The process that listens; `None` when it lies in a pid namespace that we do not see.
        listener: Option<ProcessId>,
    },
    /// The runtime accepted the connection but did not answer in time: it is hung, stopped, or busy with
    /// another tool (it serves one at a time).
    #[error("{command}: no answer within {waited:.1?}")]
    NoAnswer {
        /// What was asked.
        command: Command,
        /// How long we waited.
        waited: Duration,
    },
    /// The connection ended before the reply was complete, usually because the process ended.
    #[error("{command}: the connection was closed after {received} bytes of the reply")]
    Closed {
        /// What was asked.
        command: Command,
        /// Bytes of the reply that had arrived.
        received: usize,
    },
    /// The reply is not one.
    #[error("{command}: the reply makes no sense: {problem} at byte {offset}")]
    Malformed {
        /// What was asked.
        command: Command,
        /// What is wrong.
        problem: &'static str,
        /// Where.
        offset: usize,
    },
    /// The runtime answered with an error.
    #[error("{command}: {code}{}", detail.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
    Refused {
        /// What was asked.
        command: Command,
        /// Its code.
        code: HResult,
        /// Its words, where the command has any.
        detail: Option<String>,
    },
    /// The request does not fit into a message.
    #[error("{command}: the request has {size} bytes, the protocol allows {}", crate::MAX_PAYLOAD)]
    TooLarge {
        /// What was to be asked.
        command: Command,
        /// Its size.
        size: usize,
    },
    /// Reading or writing failed.
    #[error("{command}: {source}")]
    Io {
        /// What was asked.
        command: Command,
        /// What the operating system said.
        source: io::Error,
    },
}

fn shown(listener: Option<ProcessId>) -> String {
    listener.map_or("a process of another pid namespace".to_owned(), |pid| format!("process {pid}"))
}

impl IpcError {
    /// Whether the runtime is too old for the command.
    #[must_use]
    pub fn is_unknown_command(&self) -> bool {
        matches!(self, IpcError::Refused { code: HResult::UNKNOWN_COMMAND, .. })
    }
}
