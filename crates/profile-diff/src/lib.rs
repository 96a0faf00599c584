//! Two recordings of stacks against each other.
//!
//! ```text
//! before --+                    +--> report: what got slower, what got faster
//!          +--> diff: by method +--> picture (SVG) and page (HTML), coloured by change
//! after  --+    and by stack
//! ```
//!
//! **In:** two [`Recording`](stored_profiles::Recording)s, which side of them to compare, and what makes them comparable
//! ([`By`]). **Out:** a [`Difference`], which makes a [`model::Report`] and pictures of itself.
//!
//! Methods are the same if their names and the names of their modules are, so that a stored profile can be compared with
//! folded stacks. It opens no file and judges no cause.
#![forbid(unsafe_code)]

mod difference;
mod pictures;
mod report;

pub use difference::{By, DiffError, Difference, MethodChange, Whole, diff};
