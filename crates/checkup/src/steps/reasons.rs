//! What calls for a closer look: each function says why, if the signs do.

use facts::CallsKind;
use judgement::signs::{RuntimeSigns, Values};
use judgement::{Look, MIN_STARVATIONS, Signs, mean_call_seconds};

use super::Step;
use crate::wording::calls;
use crate::words::{bytes, percent, rate};

/// Waits for locks per second from which it is worth knowing which lock.
const LOCK_WAITS: f64 = 5.0;
/// Exceptions per second from which it is worth knowing whose.
const EXCEPTIONS: f64 = 30.0;
/// Time in collections, in per cent, from which it is worth knowing what for.
const GC_SHARE: f64 = 4.0;
/// A pause that people notice, in nanoseconds.
const NOTICED_PAUSE_NS: u64 = 50_000_000;
/// Of one processor, in per cent: a process or a thread that uses this may be hot. On a crowded machine it gets less than it
/// wants, so what it waited for counts too.
const BUSY: f64 = 60.0;
/// Of one processor, in per cent: a process that uses less does not compile all the time.
const WORKS: f64 = 5.0;
/// Compiled methods per second that are not those of a start.
const COMPILED: f64 = 50.0;
/// Pool threads for each processor that mean nothing: any busy pool tries whether more threads get more done.
const POOL_THREADS: f64 = 2.0;
/// And so many more.
const SPARE_POOL_THREADS: f64 = 2.0;
/// Time that work waits for a pool thread, in seconds, that is worth a look: items that wait, divided by those done per second.
const QUEUED: f64 = 0.01;
/// Threads from which leaked ones may be among them.
const MANY_THREADS: u64 = 40;
/// Threads that came in the window, of which some may stay.
const NEW_THREADS: u64 = 3;
/// Calls that take longer than this, in seconds, on average.
const SLOW_CALL: f64 = 0.25;
/// Calls of a second or longer, at a time, from which it is worth knowing whose.
const SLOW_CALLS: f64 = 0.3;

pub(super) fn always(_: &Signs, _: &[Look]) -> Option<String> {
    Some("no sign shows it from outside".to_owned())
}

pub(super) fn lock_waits(signs: &Signs, _: &[Look]) -> Option<String> {
    let runtime = signs.runtime.as_ref()?;
    let waits = runtime.rate(runtime.lock_waits);
    (waits >= LOCK_WAITS).then(|| format!("threads waited for locks {}", rate(waits)))
}

pub(super) fn exceptions(signs: &Signs, _: &[Look]) -> Option<String> {
    let runtime = signs.runtime.as_ref()?;
    let thrown = runtime.rate(runtime.exceptions);
    (thrown >= EXCEPTIONS).then(|| format!("exceptions were thrown {}", rate(thrown)))
}

pub(super) fn collecting(signs: &Signs, _: &[Look]) -> Option<String> {
    let share = signs.runtime.as_ref()?.gc_percent();
    (share >= GC_SHARE).then(|| format!("collections took {} of the time", percent(share)))
}

pub(super) fn pausing(signs: &Signs, _: &[Look]) -> Option<String> {
    let runtime = signs.runtime.as_ref()?;
    if runtime.induced > 0 {
        return Some(format!("the program asked for {} collections", runtime.induced));
    }
    (runtime.gc_pauses.longest_ns >= NOTICED_PAUSE_NS).then(|| {
        format!("a collection stopped the program for {} ms", runtime.gc_pauses.longest_ns / 1_000_000)
    })
}

pub(super) fn stopping(signs: &Signs, _: &[Look]) -> Option<String> {
    let stops: u64 = signs.runtime.as_ref()?.other_stops.values().sum();
    (stops >= 10).then(|| format!("all threads were stopped {stops} times for other things than collections"))
}

pub(super) fn busy(signs: &Signs, _: &[Look]) -> Option<String> {
    works_hard(signs).filter(|_| !signs.surroundings.no_samples)
}

fn works_hard(signs: &Signs) -> Option<String> {
    let system = signs.system.as_ref()?;
    let used = system.cpu_percent();
    let wanted =
        (system.ran_ns + system.ready_ns) as f64 / (system.window.as_nanos() as f64).max(1.0) * 100.0;
    (wanted >= BUSY).then(|| match used >= BUSY {
        true => format!("the process used {} of a processor", percent(used)),
        false => format!("its threads wanted {} of a processor and got {}", percent(wanted), percent(used)),
    })
}

/// The same where the kernel refuses samples, so that the runtime has to take them.
pub(super) fn busy_unseen(signs: &Signs, _: &[Look]) -> Option<String> {
    let why = works_hard(signs).filter(|_| signs.surroundings.no_samples)?;
    Some(format!("{why}, and the kernel takes no samples for this user"))
}

pub(super) fn awaited(_: &Signs, looks: &[Look]) -> Option<String> {
    let method = judgement::async_above(looks)?;
    Some(format!("the processors work for {method}, which others await"))
}

pub(super) fn compiling(signs: &Signs, _: &[Look]) -> Option<String> {
    let runtime = signs.runtime.as_ref()?;
    let compiled = runtime.compiled_rate();
    if compiled >= COMPILED {
        return Some(format!("methods were compiled {}", rate(compiled)));
    }
    // Of methods made at run time, events tell only those who want everything.
    let works = signs.system.as_ref().is_some_and(|system| system.cpu_percent() >= WORKS);
    (!runtime.counts_compiled() && works).then(|| "methods made at run time were not counted".to_owned())
}

pub(super) fn queueing(signs: &Signs, _: &[Look]) -> Option<String> {
    let reported = signs.runtime.as_ref()?;
    // A burst of work, or a crowded machine, lacks a thread once and has no queue when it is read.
    let queue = reported.counter("threadpool-queue-length");
    let has_queued = queue.is_none_or(|queue| queue.0.iter().any(|length| *length > 0.0));
    if reported.starvations >= MIN_STARVATIONS || (reported.starvations > 0 && has_queued) {
        return Some(format!("the pool lacked threads {} times", reported.starvations));
    }
    let done = reported.counter("threadpool-completed-items-count").map_or(0.0, Values::mean);
    let queue = queue.map_or(0.0, Values::least);
    if has_to_wait(queue, done) {
        return Some(format!("{queue:.0} items of work waited for a pool thread all the time"));
    }
    // The pool has as many threads as processors, and many more only because some have blocked.
    let threads = reported.counter("threadpool-thread-count")?.last();
    (threads > signs.processors() * POOL_THREADS + SPARE_POOL_THREADS && done > 0.0)
        .then(|| format!("the pool has {threads:.0} threads, more than work that never blocks needs"))
}

/// Whether work waits, by the items in the queue and those done per second: what is taken as quickly as it comes has not waited.
fn has_to_wait(queue: f64, done: f64) -> bool {
    queue >= 1.0 && queue >= done * QUEUED
}

/// Descriptors that came in the window, without any going.
const NEW_DESCRIPTORS: u64 = 4;

pub(super) fn opening(signs: &Signs, _: &[Look]) -> Option<String> {
    let open = &signs.system.as_ref()?.open;
    if signs.half_closed >= judgement::HALF_CLOSED {
        return Some(format!("{} sockets are open that the other side has closed", signs.half_closed));
    }
    (open.growth() >= NEW_DESCRIPTORS && open.only_grows())
        .then(|| format!("{} more files and sockets are open than at the start", open.growth()))
}

pub(super) fn many_threads(signs: &Signs, _: &[Look]) -> Option<String> {
    let threads = &signs.system.as_ref()?.threads;
    let grew = threads.growth() >= NEW_THREADS && threads.only_grows();
    (grew || threads.last() >= MANY_THREADS)
        .then(|| format!("there are {} threads, {} more than at the start", threads.last(), threads.growth()))
}

/// Resident memory that came in the window, in bytes, without any going.
const GROWTH: u64 = 1 << 20;
/// Of its memory, the part that grew, in per mille: of a large process a megabyte is noise.
const GROWTH_SHARE: u64 = 5;
/// Bytes allocated per second without which no place of the heap can grow by the 250 kB within a look that make a leak.
const MIN_ALLOCATION: f64 = 80e3;

pub(super) fn growing(signs: &Signs, _: &[Look]) -> Option<String> {
    let resident = &signs.system.as_ref()?.resident;
    let grew = resident.growth();
    let least = GROWTH.max(resident.last() / 1000 * GROWTH_SHARE);
    // Our own session takes some megabytes at its start. What grows later is not ours.
    let is_its_own = resident.growth_of_second_half() >= least;
    let allocated = signs.runtime.as_ref().and_then(RuntimeSigns::allocated);
    let may_leak = is_its_own || allocated.is_none_or(|rate| rate >= MIN_ALLOCATION);
    (grew >= least && resident.mostly_grows() && may_leak)
        .then(|| format!("its memory grew by {}", bytes(grew as f64)))
}

/// Memory outside of the managed heap that came in the window, in bytes.
const NATIVE_GROWTH: u64 = 6_000_000;

pub(super) fn growing_outside(signs: &Signs, _: &[Look]) -> Option<String> {
    let resident = &signs.system.as_ref()?.resident;
    let heap = signs.managed.growth().max(signs.taken.growth());
    let outside = resident.growth().saturating_sub(heap);
    // Our own session takes some megabytes at its start. What leaks goes on.
    let goes_on = resident.growth_of_second_half() >= NATIVE_GROWTH / 4;
    // What the heap has taken and given back within the window may be in it as well: the look tells.
    let much = outside >= NATIVE_GROWTH && outside * 2 >= resident.growth();
    (much && goes_on && resident.mostly_grows()).then(|| {
        format!("its memory grew by {}, its heap by {}", bytes(resident.growth() as f64), bytes(heap as f64))
    })
}

/// Timers from which it is worth knowing what they are for.
const TIMERS: f64 = 300.0;
/// Timers that came in the window, without any going.
const NEW_TIMERS: f64 = 5.0;

pub(super) fn many_timers(signs: &Signs, _: &[Look]) -> Option<String> {
    let timers = signs.runtime.as_ref()?.counter("active-timer-count")?;
    let grew = timers.last() - timers.0.first().copied().unwrap_or(0.0);
    (timers.last() >= TIMERS || grew >= NEW_TIMERS).then(|| format!("{:.0} timers are active", timers.last()))
}

/// Objects with finalizers that a collection found dead, or that wait now.
const FINALIZABLE: u64 = 50;

pub(super) fn finalizing(signs: &Signs, looks: &[Look]) -> Option<String> {
    let stuck = looks.iter().flat_map(|look| &look.found);
    if stuck
        .map(|finding| judgement::illness(&finding.id))
        .any(|id| ["blocked-forever", "deadlock"].contains(&id))
    {
        return Some("threads are stuck, and the finalizer may be one of them".to_owned());
    }
    let heap = signs.runtime.as_ref().and_then(|runtime| runtime.heap.as_ref());
    let reported = heap.map_or(0, |heap| heap.finalization_count);
    let waiting = reported.max(signs.waiting_for_finalizer.unwrap_or(0));
    (waiting >= FINALIZABLE).then(|| format!("{waiting} objects waited for their finalizer"))
}

/// Pinned objects, or handles, from which it is worth knowing whose.
const PINNED: u32 = 500;

pub(super) fn pinned(signs: &Signs, _: &[Look]) -> Option<String> {
    let heap = signs.runtime.as_ref()?.heap.as_ref()?;
    (heap.pinned_objects >= PINNED)
        .then(|| format!("a collection met {} pinned objects", heap.pinned_objects))
}

/// Large objects, in bytes, from which holes between them matter.
const LARGE_OBJECTS: f64 = 50e6;

pub(super) fn large_objects(signs: &Signs, _: &[Look]) -> Option<String> {
    let runtime = signs.runtime.as_ref()?;
    let counted = runtime.counter("loh-size").map_or(0.0, Values::last);
    let large = counted.max(runtime.heap.as_ref().map_or(0.0, |heap| heap.large_bytes as f64));
    let large = large.max(signs.large.last() as f64);
    (large >= LARGE_OBJECTS).then(|| format!("there are {} of large objects", bytes(large)))
}

/// A heap, in bytes, of which duplicates may be a part that matters.
const LARGE_HEAP: f64 = 15e6;

pub(super) fn large_heap(signs: &Signs, _: &[Look]) -> Option<String> {
    let heap = signs.runtime.as_ref()?.lasting_bytes()?;
    (heap >= LARGE_HEAP).then(|| format!("the heap has {}", bytes(heap)))
}

pub(super) fn calling(signs: &Signs, _: &[Look]) -> Option<String> {
    let (_, sockets) = signs.system.as_ref().map_or((0, 0), judgement::signs::System::opened);
    if sockets >= NEW_DESCRIPTORS {
        return Some(format!("{sockets} more sockets are open than at the start"));
    }
    let tallies = &signs.calls;
    for (kind, tally) in [(CallsKind::Http, &tallies.http), (CallsKind::Database, &tallies.commands)] {
        if tally.is_failing() {
            return Some(format!("{} of {} {} failed", tally.failed, tally.ended, calls(kind)));
        }
        let slow = tally.slow_at_once(tallies.window_ns());
        if slow >= SLOW_CALLS {
            return Some(format!("{} {} took a second or longer", tally.slow, calls(kind)));
        }
    }
    let seconds = mean_call_seconds(signs)?;
    (seconds >= SLOW_CALL).then(|| format!("outgoing HTTP calls took {seconds:.1} s on average"))
}

/// Events with stacks that are enough to tell whose they are: a share of a half within 3 per cent. Each costs the target 10 to 20 us, so
/// more would only slow it down.
const ENOUGH: f64 = 1_500.0;
/// The runtime reports an allocation for every so many bytes.
const BYTES_REPORTED: f64 = 100e3;
/// However many there are: the shortest look at them, in seconds.
const SHORTEST: f64 = 0.3;
/// Collections to be seen beside allocations: the look says nothing of a program that has fewer than 3.
const COLLECTIONS: f64 = 6.0;

/// Allocations that the runtime reports a second.
pub(super) fn allocations_reported(runtime: &RuntimeSigns) -> f64 {
    runtime.allocated().map_or(0.0, |bytes| bytes / BYTES_REPORTED)
}

/// Exceptions a second.
pub(super) fn thrown(runtime: &RuntimeSigns) -> f64 {
    runtime.rate(runtime.exceptions)
}

/// Waits for locks a second.
pub(super) fn waits_begun(runtime: &RuntimeSigns) -> f64 {
    runtime.rate(runtime.lock_waits)
}

/// For how long a look is to be taken that asks for events with stacks: less of those that come more often.
pub(super) fn enough(step: &Step, signs: &Signs) -> f64 {
    let Some((events, runtime)) = step.events.zip(signs.runtime.as_ref()) else { return step.seconds };
    let collections = step.sees_collections.then(|| runtime.rate(runtime.gc_pauses.count));
    shortened(step.seconds, events(runtime), collections)
}

/// So many events come a second, and so many collections, if those are to be seen as well.
fn shortened(seconds: f64, events: f64, collections: Option<f64>) -> f64 {
    if events <= 0.0 {
        return seconds;
    }
    let for_collections = collections.map_or(0.0, |rate| COLLECTIONS / rate.max(f64::MIN_POSITIVE));
    seconds.min((ENOUGH / events).max(SHORTEST).max(for_collections))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_judged_by_how_long_its_work_waits() {
        assert!(has_to_wait(40.0, 12.0), "three seconds");
        assert!(has_to_wait(1.0, 0.0), "nothing is done at all");
        assert!(!has_to_wait(2.0, 15_000.0), "a tenth of a millisecond");
        assert!(!has_to_wait(0.0, 0.0), "nothing waits");
    }

    #[test]
    fn a_look_at_events_is_as_long_as_it_needs_to_be() {
        let is = |seconds: f64, events, collections, wanted: f64| {
            let got = shortened(seconds, events, collections);
            assert!((got - wanted).abs() < 1e-9, "{events} events, {collections:?} collections: {got}");
        };
        is(3.0, 0.0, None, 3.0);
        is(3.0, 300.0, None, 3.0);
        is(3.0, 1_000.0, None, 1.5);
        is(3.0, 1e6, None, SHORTEST);
        is(3.0, 5_000.0, Some(60.0), 0.3);
        is(3.0, 5_000.0, Some(4.0), 1.5);
        is(3.0, 5_000.0, Some(0.0), 3.0);
    }
}
