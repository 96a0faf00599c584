//! How long a closer look would stop the target.

use std::time::Duration;

use discovery::DotnetProcess;
use heap_collector::Expected;

use super::LONGEST_PAUSE;
use judgement::Signs;
use judgement::signs::RuntimeSigns;

use crate::signs::Vitals;

/// The first version whose heap is walked, not reported by a collection.
const WALKED_SINCE: u32 = 9;

/// Whether the heap is reported by a collection of the server collector, of which the end often does not come.
pub(super) fn heap_may_not_come(signs: &Signs, process: &DotnetProcess) -> bool {
    let is_reported = signs.runtime.as_ref().and_then(|runtime| runtime.heaps).is_some_and(|heaps| heaps > 1);
    let asked = signs.surroundings.setting("gcserver").is_some_and(judgement::signs::is_on);
    let is_server = is_reported || asked || signs.surroundings.collector_threads > 0;
    is_server && process.runtime_major().unwrap_or(0) < WALKED_SINCE
}

/// Memory that a look may make the target take, in bytes: buffers of events, and some for itself.
const MEMORY_OF_A_LOOK: u64 = 48 << 20;

/// Memory that its container has left, in bytes, if that is too little for a look.
pub(super) fn scarce_memory(signs: &Signs) -> Option<u64> {
    let container = &signs.container;
    let left = container.memory_limit?.saturating_sub(container.memory_used?);
    (left < MEMORY_OF_A_LOOK).then_some(left)
}

pub(super) fn no_pause(_: &Vitals, _: &DotnetProcess) -> Duration {
    Duration::ZERO
}

/// Stacks of all threads: about 4 us each, see docs/clr-profiling.md.
pub(super) fn moments(vitals: &Vitals, _: &DotnetProcess) -> Duration {
    let threads = vitals.signs.system.as_ref().map_or(50, |system| system.threads.last());
    Duration::from_millis(1) + Duration::from_micros(8) * u32::try_from(threads).unwrap_or(u32::MAX)
}

/// The finalizer queue is read from outside, with the stacks of all threads; where nobody can, the heap is.
pub(super) fn queue(vitals: &Vitals, process: &DotnetProcess) -> Duration {
    match vitals.signs.waiting_for_finalizer {
        Some(_) => moments(vitals, process),
        None => heap_walk(vitals, process),
    }
}

/// The whole heap: walked by the agent from .NET 9 on, before that reported object by object after a collection.
pub(super) fn heap_walk(vitals: &Vitals, process: &DotnetProcess) -> Duration {
    heap(vitals, process).pause
}

/// What a look at the heap would take. Looked up once: the objects are counted from outside.
pub(super) fn heap<'a>(vitals: &'a Vitals, process: &DotnetProcess) -> &'a Expected {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of bytes")]
    let reported = || {
        let runtime = vitals.signs.runtime.as_ref();
        runtime.and_then(RuntimeSigns::heap_bytes).map_or(0, |bytes| bytes as u64)
    };
    // Where its bytes are known.
    let seen = Some(vitals.signs.managed.last()).filter(|bytes| *bytes > 0);
    let small = || seen.and_then(|bytes| Expected::of_small(process, bytes, LONGEST_PAUSE / 2));
    vitals.heap.get_or_init(|| small().unwrap_or_else(|| Expected::of(process, reported())))
}
