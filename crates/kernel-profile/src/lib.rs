//! Profiles from the kernel: managed, runtime and kernel frames in one stack.
//!
//! ```text
//! perf-sampler: records --> Intake: unwinds each stack at once, keeps addresses --+
//!                                                                                 +--> finish --> stacks::Profile
//! symbols: CodeMap (methods), native-symbols (libraries, kernel), PDBs (lines) ---+    or         and Quality
//!                                                                                      snapshot
//! ```
//!
//! **In:** the records of a sampler and, at the end, what the runtime says of its code. **Out:** one profile of the time on
//! the CPU and one of the time off it, on one set of named stacks, and how good they are: what was lost, cut, unnamed,
//! repaired.
//!
//! Stack copies are not kept: a stack is walked when its record comes. What can only be known when methods have names,
//! the caller that frame pointers miss in the innermost frame, is put back at the end.
//!
//! Waits without a stack of their own: a thread can be looked at while it waits (`Intake::look`), and at the end the time of
//! all waits is given to those with a stack (`estimate`).
//!
//! It opens no event and asks no runtime; the caller does, in the order of its choice.
#![forbid(unsafe_code)]

mod blocked;
mod callers;
mod estimate;
mod followed;
mod images;
mod intake;
mod looks;
mod memory;
mod namer;
mod profiles;
mod quality;
mod samples;
mod stubs;
mod tops;
mod unknown;
mod waiting;

pub use blocked::Looked;
pub use intake::{Intake, Side};
pub use profiles::{Names, Profiles};
pub use quality::{Quality, WaitQuality};
pub use unknown::Unknown;
