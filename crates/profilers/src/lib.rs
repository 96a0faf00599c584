//! What we answer.
//!
//! ```text
//! registry: PROFILERS --> list, help, docs index, later the web menu
//!               |
//! DotnetProcess, Settings --> Profiler::run --> Answer --> (run) --> model::Report
//! ```
//!
//! A profiler answers one question in a few lines. It is one file that implements [`Profiler`] and one line in
//! [`PROFILERS`]; the command line, help, sessions and renderings follow from its [`Spec`]. It collects with
//! the engines of the other crates and returns an [`Answer`]; it prints nothing and opens no session.
//!
//! ```
//! let threads = profilers::by_id("threads").unwrap();
//! println!("{}", threads.spec().question);
//! ```
#![forbid(unsafe_code)]

mod about;
mod allocations;
mod async_hot_paths;
mod blame;
mod capped;
mod collections;
mod contention;
mod control;
mod cpu_unprivileged;
mod deadlocks;
mod duplicate_strings;
mod error;
mod event_stacks;
mod events;
mod exceptions;
mod finalizer_queue;
mod gc_pauses;
mod gc_survivors;
mod handles;
pub mod heap;
mod heap_composition;
mod hot_method;
mod inside;
pub mod kernel;
mod lengths;
mod memory_leaks;
mod merged_stacks;
mod naming;
mod openers;
mod parameter;
mod profiler;
mod ratio;
mod registry;
mod run;
mod runtime_pauses;
mod sampling;
mod settings;
mod shortage;
#[cfg(test)]
mod specimen;
mod stack_section;
mod stuck_tasks;
mod suggest;
mod thread_pool;
mod thread_time;
mod threads;
mod timers;
#[cfg(test)]
mod walkthrough;
mod zombie_threads;

pub use agent_host::AgentError;
pub use blame::method as culprit_of;
pub use control::{Archive, Control, EarlierHeap, NotFound, Sharing, Stop};
pub use error::ProfilerError;
pub use event_stacks::{EventStacks, OtherEvents, Others, event_stacks, other_events};
pub use heap_collector::Error as HeapError;
pub use heap_composition::memory_of;
pub use kernel_collector::SharedCode;
pub use openers::{Openers, openers};
pub use parameter::{Kind, Parameter};
pub use profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
pub use registry::{PROFILERS, UnknownProfiler, by_id};
pub use run::{Answered, ask, run};
pub use settings::{REDACT, SettingError, Settings};
pub use suggest::closest;
