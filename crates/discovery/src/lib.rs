//! Finds .NET processes.
//!
//! ```text
//! /proc (process-view) --> where is the socket of each? --> connect, ask (diagnostics-ipc) --> DotnetProcess
//! own temp folder -------> sockets that no process of /proc explains ----^
//! ```
//!
//! In: nothing, a pid, or a name. Out: [`DotnetProcess`]es with what is known of them and how they can be
//! reached ([`Reach`]). The name of a runtime's socket holds its pid (in its own namespace) and its start time,
//! so the right one is computed, not searched for; a socket left behind by an earlier process with the same pid
//! has another name. Who really listens is checked with the kernel before anything is believed.
//!
//! Targets are asked in parallel, each with its own deadline: one that hangs delays no other.
//!
//! ```no_run
//! for process in discovery::discover(&discovery::Options::default()) {
//!     println!("{} {}", process.pid, process.name);
//! }
//! ```
#![forbid(unsafe_code)]

mod access;
mod describe;
mod find;
mod linux;
mod probe;
mod process;
mod scan;
pub mod secrets;
mod socket_name;

pub use access::{Ability, Access, access};
pub use find::{FindError, find, find_by_name};
pub use process::{DotnetProcess, Off, Reach, User};
pub use scan::{Options, Scan, discover, scan};
pub use socket_name::SocketName;
