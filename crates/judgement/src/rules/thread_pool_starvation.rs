//! `thread-pool-starvation`: work waits because all threads of the pool are blocked.
//!
//! For: the pool itself says that none of its threads took work for half a second (it then adds one), or its queue never was
//! empty while its threads used no processor. Against: threads that compute, or would if others did not have the processors: then
//! processors are missing, not threads.

use facts::{Confidence, Doubt, Severity, Sign};

use crate::{Case, Verdict};

/// Times the pool must have lacked a thread in the window. It adds one or two a second while it starves; a burst of work does it
/// once.
pub const MIN_STARVATIONS: u64 = 2;
/// Items of work that wait at every reading.
const MIN_QUEUE: f64 = 1.0;
/// If the process uses more of its processors than this, in per cent, its threads are not blocked, but busy.
const BUSY: f64 = 70.0;
/// Threads that wait for a processor at any time, on average, from which processors are missing. Blocked threads want none.
const READY: f64 = 2.0;
/// And of the time in which threads could run, the part in which they had none, in per cent.
const CROWDED: f64 = 50.0;
/// Requests that take half a second more, each.
const COST: f64 = 90.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let mut found = case.adopt("thread-pool-starvation", COST);
    let system = case.signs.system.as_ref();
    if let Some(system) =
        system.filter(|system| system.ready() >= READY && system.starved_percent() >= CROWDED)
    {
        let doubt = Doubt::NoProcessors { threads: system.ready() };
        found = found.into_iter().map(|verdict| verdict.doubted(doubt)).collect();
    }
    if !found.is_empty() || case.has_look("thread-pool") {
        return found;
    }
    // The stacks could not be had; the signs alone say that it is so, but not why.
    let Some(runtime) = case.signs.runtime.as_ref() else { return found };
    let queue = runtime.counter("threadpool-queue-length").map_or(0.0, crate::signs::Values::least);
    if runtime.starvations < MIN_STARVATIONS || queue < MIN_QUEUE || case.cpu_share() > BUSY {
        return found;
    }
    let sign = Sign::PoolLacksThreads { times: runtime.starvations, queue };
    vec![Verdict::of_sign("thread-pool-starvation", (Severity::Warning, Confidence::Medium), sign, COST)]
}
