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
//! [`CoreFile`] gives the memory of a dump, its threads and the files that were mapped; crate `gc-memory` finds the heap
//! in it.
#![forbid(unsafe_code)]

mod core_file;
mod error;
mod kind;
mod leftovers;
mod look_over;
mod place;
mod refusal;
mod write;

pub use core_file::{CoreError, CoreFile, CoreMapping, CoreThread};
pub use diagnostics_ipc::DumpKind;
pub use error::{DumpError, Failed};
pub use kind::{expected_bytes, parse_kind};
pub use look_over::{NotEnoughRoom, look_over};
pub use place::Place;
pub use refusal::Refusal;
pub use write::{Waiting, Wish, Written, write};
