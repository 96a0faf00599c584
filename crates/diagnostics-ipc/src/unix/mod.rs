//! Unix: the runtime's socket, and sockets the runtime calls.

mod launch;
mod port;
mod socket;
mod sys;

pub use launch::{LaunchError, Launched, launch};
pub use port::{PortServer, RuntimeSeen, Welcome, diagnostic_ports_variable};
pub(crate) use socket::send_descriptor;
pub use socket::{Endpoint, TraceStream};

/// A connection to a runtime.
pub type Connection = std::os::unix::net::UnixStream;
