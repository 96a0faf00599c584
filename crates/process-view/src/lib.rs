//! A process as the kernel shows it, without a word to the process itself.
//!
//! ```text
//! /proc/PID/{stat,status,cmdline,environ,cgroup,maps,smaps,ns,root,task/*} --> parse --> Process, Task, Stat, ...
//! ```
//!
//! In: a pid. Out: typed facts, or a [`ViewError`] that tells a vanished process from a forbidden one. Each
//! call is one look; nothing is cached, because the target lives on. What a foreign user may not read is an
//! error of that one fact, never of the whole process.
//!
//! It does not know what .NET is, except for the two marks by which a runtime is recognised from outside
//! ([`Process::runtime_mark`]).
//!
//! ```
//! let me = process_view::Process::new(model::ProcessId(std::process::id()));
//! assert!(me.stat().unwrap().threads >= 1);
//! ```
#![forbid(unsafe_code)]

mod error;
#[cfg(target_os = "linux")]
mod linux;

pub use error::ViewError;
#[cfg(target_os = "linux")]
pub use linux::{
    Access, Clock, IdMap, MappedMemory, MemoryView, Process, ProcessorClock, ProcessorTime, RuntimeMark, Stat,
    Status, Task, TaskState, architecture_of_elf, container_in_cgroup, monotonic_now, own_cpu_time, process_ids, scheduler_now,
    user_name,
};
