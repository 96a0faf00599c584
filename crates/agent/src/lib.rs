//! The agent: a small library inside the target, loaded with `AttachProfiler`.
//!
//! ```text
//!  runtime --> DllGetClassObject (sys.rs) --> Agent (agent.rs) -- attached --> one thread (visit.rs)
//!                                                                                |  <-- line.rs --> host
//!                                                                                +-- answers.rs, heap/, ... --> the runtime
//! ```
//!
//! It is a guest: no panic gets out, nothing waits without an end, memory is bounded (see `answers.rs` and `heap/mod.rs`), nothing is printed
//! or written to disk. It leaves when it is told to, when the host is gone, when its time is over and when its own code
//! fails. The library stays mapped afterwards, doing nothing, and the next visit of the same build uses it again.
//!
//! **Not here:** names for people, sorting, counting, rendering: all that is the host's.
#![deny(unsafe_code)]

mod agent;
mod answers;
mod async_samples;
mod graph;
mod heap;
mod line;
mod locks;
mod memory;
mod owners;
#[expect(
    unsafe_code,
    reason = "the one function that the library exports, where its memory comes from, and memory that may not be there"
)]
mod sys;
mod visit;
