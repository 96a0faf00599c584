//! Core dumps that a .NET process writes of itself.
//!
//! ```text
//!  what was typed --> Place: where it will be, in the *target's* file system
//!                       |
//!                     look_over: folder, its user's rights, createdump, ptrace, free space --> DumpError, NotEnoughRoom
//!                       |
//!                     write: asks the runtime, watches how long it stands still, looks for the file --> Written
//! ```
//!
//! The runtime starts its program `createdump`, which stops the process, reads its memory and writes the file, as the
//! *process's* user, in the *process's* file system. So most failures can be seen before anything is asked, and they
//! are: a runtime that cannot run its `createdump` leaves a forked copy of the process behind.
//!
//! It reads no core dump.
#![forbid(unsafe_code)]

mod error;
mod kind;
mod leftovers;
mod look_over;
mod place;
mod refusal;
mod write;

pub use diagnostics_ipc::DumpKind;
pub use error::{DumpError, Failed};
pub use kind::{expected_bytes, parse_kind};
pub use look_over::{NotEnoughRoom, look_over};
pub use place::Place;
pub use refusal::Refusal;
pub use write::{Waiting, Wish, Written, write};
