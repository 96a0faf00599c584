//! All profilers. A new one is one line here.

use thiserror::Error;

use crate::allocations::Allocations;
use crate::async_hot_paths::AsyncHotPaths;
use crate::contention::Contention;
use crate::cpu_unprivileged::CpuUnprivileged;
use crate::deadlocks::Deadlocks;
use crate::duplicate_strings::DuplicateStrings;
use crate::exceptions::Exceptions;
use crate::finalizer_queue::FinalizerQueue;
use crate::gc_pauses::GcPauses;
use crate::gc_survivors::GcSurvivors;
use crate::heap_composition::HeapComposition;
use crate::handles::Handles;
use crate::kernel::{Cpu, OffCpu};
use crate::memory_leaks::MemoryLeaks;
use crate::merged_stacks::MergedStacks;
use crate::profiler::Profiler;
use crate::runtime_pauses::RuntimePauses;
use crate::stuck_tasks::StuckTasks;
use crate::suggest::closest;
use crate::thread_pool::ThreadPool;
use crate::thread_time::ThreadTime;
use crate::threads::Threads;
use crate::timers::Timers;
use crate::zombie_threads::ZombieThreads;

/// All profilers, in the order in which they are listed.
#[rustfmt::skip]
pub static PROFILERS: &[&dyn Profiler] = &[
    &Threads,
    &MergedStacks,
    &ZombieThreads,
    &StuckTasks,
    &Deadlocks,
    &Cpu,
    &OffCpu,
    &CpuUnprivileged,
    &ThreadTime,
    &ThreadPool,
    &AsyncHotPaths,
    &Contention,
    &Exceptions,
    &Allocations,
    &MemoryLeaks,
    &GcPauses,
    &GcSurvivors,
    &HeapComposition,
    &RuntimePauses,
    &DuplicateStrings,
    &Timers,
    &FinalizerQueue,
    &Handles,
];

/// No profiler has this id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no profiler '{typed}'")]
pub struct UnknownProfiler {
    /// What was typed.
    pub typed: String,
    /// The nearest id that exists.
    pub suggestion: Option<&'static str>,
}

/// The profiler with this id.
pub fn by_id(id: &str) -> Result<&'static dyn Profiler, UnknownProfiler> {
    PROFILERS.iter().copied().find(|profiler| profiler.spec().id == id).ok_or_else(|| UnknownProfiler {
        typed: id.to_owned(),
        suggestion: closest(id, PROFILERS.iter().map(|profiler| profiler.spec().id)),
    })
}
