//! The .NET runtime's diagnostics protocol.
//!
//! ```text
//!             one command per connection
//!  Client ---------------------------------> socket of the runtime     (Endpoint: connect)
//!  Client <--- PortServer <----------------- runtime calls us          (diagnostic port: listen)
//!             advertise, then one command
//! ```
//!
//! In: an [`Endpoint`] (where the runtime listens) or a [`PortServer`] (where it calls us). Out: typed replies
//! of every command of the protocol, and the raw event stream of a tracing session ([`TraceStream`]), which
//! other crates decode. Every operation has a deadline; every length in a reply is bounded; no bytes make it
//! panic. Commands that exist in several versions are asked from the one that carries what is needed down to
//! the oldest, and the reply says what had to be given up ([`Granted`]).
//!
//! It does not look for processes (crate `discovery`) and does not read events.
//!
//! ```no_run
//! use diagnostics_ipc::{Client, Endpoint};
//! let client = Client::new(Endpoint::at("/tmp/dotnet-diagnostic-4242-99887766-socket"));
//! let info = client.process_info()?;
//! println!("{} on {}", info.entry_assembly.unwrap_or_default(), info.runtime_version.unwrap_or_default());
//! # Ok::<(), diagnostics_ipc::IpcError>(())
//! ```
#![deny(unsafe_code)]

mod client;
mod command;
mod deadline;
mod error;
mod hresult;
mod message;
mod quiet;
mod reply;
mod trace;
#[cfg(unix)]
mod unix;
mod wire;

pub use client::{Client, Transport};
pub use command::{AttachRequest, Command, DumpKind, DumpOptions, Guid, PerfMapKind};
pub use deadline::Deadline;
pub use error::IpcError;
pub use hresult::HResult;
pub use message::{HEADER_SIZE, Header, MAX_PAYLOAD, ReplyKind};
pub use quiet::Quiet;
pub use reply::{Advertise, ProcessInfo, ProcessInfoVersion};
pub use trace::{
    BufferingMode, EventFilter, Feature, Granted, Level, Provider, Rundown, SessionId, TraceRequest,
    Tracepoints, UserEventsProvider,
};
#[cfg(unix)]
pub use unix::{
    Endpoint, LaunchError, Launched, PortServer, RuntimeSeen, TraceStream, Welcome,
    diagnostic_ports_variable, launch,
};

/// Decoders on their own, for fuzzing: none of them may panic on any bytes.
#[doc(hidden)]
pub mod decode {
    pub use crate::reply::{advertise, environment, error_reply, process_info, session_id, status};
}
