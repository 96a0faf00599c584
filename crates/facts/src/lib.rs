//! What was measured, as types, before anybody puts it into words.
//!
//! ```text
//! profilers --(facts)--> rules: what is ill, what is cause and what symptom
//!     |                    |
//!     +------(facts)-------+--> words: the findings of a model::Report
//! ```
//!
//! **In:** what a profiler found out. **Out:** [`Fact`]s of its findings and [`LookFacts`] of what it saw besides. Who judges reads
//! these and nothing else: there is no sentence in this crate, and no table. Names of methods, types and fields are what the target
//! says, so they are hostile; a renderer makes them harmless.
//!
//! This crate opens nothing, prints nothing and has no `unsafe`.
#![forbid(unsafe_code)]

mod culprit;
mod fact;
mod frame;
mod framework;
mod grade;
mod look;
mod observation;
mod sign;
mod value;

pub use culprit::{Culprit, CulpritKind};
pub use fact::{Caller, Fact, PauseCause, Related};
pub use frame::{Frame, FrameKind, Stack, is_async, method_name};
pub use framework::{is_framework, is_framework_module, module_name};
pub use grade::{Confidence, Severity};
pub use look::{FullCollection, LockWait, LookFacts, StillThread};
pub use observation::Observation;
pub use sign::{CallsKind, DescriptorKind, Descriptors, Doubt, HeapsKnownBy, Sign};
pub use value::Value;
