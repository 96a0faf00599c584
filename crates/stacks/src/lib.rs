//! Call stacks and what they add up to.
//!
//! ```text
//! addresses, innermost first --intern--> StackTable: one node per (caller, address)
//!                                            |
//! samples (time, thread, stack, weight) -----+--name(address)--> Profile: named frames, the same tree, samples
//!                                                                    |
//!                              top methods, call tree, samples by thread: whole or of one thread
//! ```
//!
//! **In:** stacks of code addresses, as events carry them. **Out:** a [`Profile`]: weighed samples on named stacks,
//! which every format of stacks is written from and every table of methods is counted from ([`top_methods`],
//! [`CallTree`]).
//!
//! It opens nothing and knows no runtime: names come from a closure.
//!
//! ```
//! use nettrace::CodeAddress;
//! use stacks::StackTable;
//!
//! let mut table = StackTable::new();
//! let main = table.intern([CodeAddress(1)].into_iter()).unwrap();
//! let work = table.intern([CodeAddress(2), CodeAddress(1)].into_iter()).unwrap();
//! assert_eq!(table.frames(work).count(), 2);
//! assert_eq!(table.child(Some(main), CodeAddress(2)), Some(work));
//! ```
#![forbid(unsafe_code)]

mod call_tree;
mod merge;
mod profile;
mod table;
mod thread_samples;
mod top;

pub use call_tree::{CallNode, CallTree};
pub use profile::{FrameId, Profile, ProfileThread, Sample, StackNode, ThreadSlot, Weight};
pub use table::{StackKey, StackTable};
pub use thread_samples::ThreadSamples;
pub use top::{MethodWeight, top_methods};
