//! Call stacks and what they add up to.
//!
//! ```text
//! addresses, innermost first --intern--> StackTable: one node per (caller, address)
//!                                            |
//! samples (time, thread, stack, weight) -----+--name(address)--> Profile: named frames, the same tree, samples
//! ```
//!
//! **In:** stacks of code addresses, as events carry them. **Out:** a [`Profile`]: weighed samples on named stacks,
//! which every format of stacks is written from and every table of methods is counted from.
//!
//! It opens nothing and knows no runtime: names come from a closure.
#![forbid(unsafe_code)]

mod profile;
mod table;

pub use profile::{FrameId, Profile, ProfileThread, Sample, StackNode, ThreadSlot, Weight};
pub use table::{StackKey, StackTable};
