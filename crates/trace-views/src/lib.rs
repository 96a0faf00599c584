//! What a trace says about stacks, one view at a time.
//!
//! ```text
//!                  +-- kinds: what each event is for, counted ------------------> Summary
//! nettrace::Reader-+-- stacks by address --> StackTable --+
//!                  +-- one collector per view: samples ---+-- names from CodeMap --> stacks::Profile
//!                  +-- methods, modules --> CodeMap ------+      (at the end: most names come last)
//! ```
//!
//! **In:** a nettrace stream, read once, and a [`Request`]: which [`View`], how much detail. **Out:** a [`Reading`]: the
//! [`Profile`](stacks::Profile) of that view, and a [`Summary`] of everything the trace holds, with what was lost.
//! A stream that is cut or damaged gives all that stands before the damage, and the damage.
//!
//! Memory grows with the stacks that differ and, for a [time line](Detail::TimeLine), with the samples of the view;
//! a thread that stays on one stack costs one sample, however long it stays.
//!
//! It writes nothing and judges nothing.
//!
//! ```no_run
//! use trace_views::{Detail, Request, View, Wanted};
//!
//! let request = Request::new(Wanted::View(View::Allocations), Detail::Totals);
//! let reading = trace_views::read(std::fs::File::open("app.nettrace")?, &request)?;
//! if let Some(profile) = &reading.profile {
//!     println!("{} bytes in {} stacks", profile.total(), profile.nodes.len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod collected;
mod event_kinds;
mod marker;
mod outside;
mod pass;
mod request;
mod sampler;
mod stack_ids;
mod summary;
mod threads;
mod view;
mod waits;

pub use marker::{UNMANAGED_CODE_TIME, UNNAMED, is_marker};
pub use pass::{ReadError, Reading, read};
pub use request::{Detail, EventName, EventNameError, Lines, Request, Wanted};
pub use summary::{EventCount, Names, Summary, ViewCount};
pub use view::View;
