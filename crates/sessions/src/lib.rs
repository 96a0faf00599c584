//! A session is a folder.
//!
//! ```text
//! <store>/20261115-051200-threads-4242/     0700
//!     lock           held by the tool as long as it runs; the kernel frees it however the tool ends
//!     session.json   what was started: profiler, parameters, target
//!     profile.drprof the samples, for profilers that have some
//!     heap-1.gcdump  the heap, for those that take one; further ones have further numbers
//!     report.json    the result, there only when complete
//!     flamegraph.html, on-cpu.*, off-cpu.*, ready.*   pictures of them, and other formats
//!     outcome.json   how it ended; written last
//! ```
//!
//! | outcome.json | lock  | status                      |
//! |--------------|-------|-----------------------------|
//! | there        | any   | done, failed or cancelled   |
//! | not there    | held  | running                     |
//! | not there    | free  | abandoned: the tool was killed |
//!
//! The folder appears under its name with `lock` and `session.json` complete, and each later file appears by
//! rename: at no instant is there half of anything. Files are private to the user (0700/0600).
//!
//! In: a [`Manifest`], later a report and an [`Outcome`]. Out: [`Session`]s with a [`Status`]. It renders
//! nothing, and it never deletes what it cannot recognise as a session.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! let store = sessions::Store::at(folder.path().join("sessions"));
//! assert!(store.list().unwrap().is_empty());
//! ```
#![forbid(unsafe_code)]

mod error;
mod files;
mod makeshift;
mod manifest;
mod running;
mod session;
mod store;

pub use error::SessionError;
pub use manifest::{MANIFEST_SCHEMA, Manifest, Outcome, OutcomeStatus};
pub use running::RunningSession;
pub use session::{Session, Status};
pub use store::{Entry, Store};
