//! What the runtime says of itself in the window: one session without stacks and without names of code, which costs the
//! target next to nothing.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use diagnostics_ipc::{IpcError, Level, Provider, Rundown, TraceRequest};
use discovery::DotnetProcess;
use event_session::{Going, NAMES_ARE_SAFE_SINCE, Observer, Seen, SessionEnd, observe};
use nettrace::ThreadId;
use runtime_events::counters::CounterReading;
use runtime_events::gc::{GcReason, HeapStats, SuspendReason};
use runtime_events::gc_history::GenerationHistory;
use runtime_events::thread_pool::AdjustmentReason;
use runtime_events::{RuntimeEvent, keyword, provider};

use super::Course;
use super::given_out::{GivenOut, total};

/// Buffer in the target, in megabytes: events without stacks are some hundred bytes.
const BUFFER_MB: u32 = 16;
/// The runtime's own event source of counters.
const COUNTERS: &str = "System.Runtime";
/// The event source of outgoing HTTP calls, which counts them too (.NET 5).
const HTTP: &str = "System.Net.Http";
/// Threads that may be in a pause at once; one does it.
const MOST_OPEN: usize = 64;
/// Our own session makes the runtime compile what it needs for it, within this time.
pub(super) const SETTLED: Duration = Duration::from_millis(1500);

/// Of the mechanisms of a collection: it ran beside the program.
const CONCURRENT: u32 = 1;

/// Shorter than this, in seconds, what is compiled after that tells nothing.
pub(super) const SHORTEST_SETTLED: f64 = 0.5;

/// Increments of a shorter interval than this, in seconds, tell nothing.
const SHORTEST_INTERVAL: f32 = 0.2;

/// The values of a counter in the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(pub Vec<f64>);

impl Values {
    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / (self.0.len() as f64).max(1.0)
    }

    /// The last one.
    #[must_use]
    pub fn last(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }

    /// The smallest.
    #[must_use]
    pub fn least(&self) -> f64 {
        self.0.iter().copied().reduce(f64::min).unwrap_or(0.0)
    }
}

/// What the runtime says of itself.
#[derive(Clone, Debug, Default)]
pub struct RuntimeSigns {
    /// How long it was listened to.
    pub window: Duration,
    /// Whether it was asked to count.
    pub(super) counting: Counting,
    /// Bytes that came.
    pub bytes: u64,
    /// Events that came.
    pub events: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Whether the target ended meanwhile.
    pub exited: bool,
    /// Collections by generation.
    pub collections: [u64; 3],
    /// Of these, asked for by the program.
    pub induced: u64,
    /// Pauses for collections.
    pub gc_pauses: Pauses,
    /// Of their time, that of collections which the program asked for, in nanoseconds.
    pub forced_ns: u64,
    /// Of their time, that of young collections which it did not ask for, in nanoseconds.
    pub young_ns: u64,
    /// The longest pause of a full collection which it did not ask for, in nanoseconds.
    pub longest_full_ns: u64,
    /// Stops of all threads for other reasons, by reason.
    pub other_stops: BTreeMap<String, u64>,
    /// The heap after the last collection.
    pub heap: Option<HeapStats>,
    /// Heaps of the collector; more than one with the server collector.
    pub heaps: Option<u32>,
    /// Exceptions thrown.
    pub exceptions: u64,
    /// Waits for locks that began.
    pub lock_waits: u64,
    /// Time waited for locks, in nanoseconds.
    pub lock_waited_ns: f64,
    /// How often the pool added a thread because none took work for half a second.
    pub starvations: u64,
    /// Methods compiled, after the session's own.
    pub compiled: u64,
    /// What collections tell of the memory that was given out.
    given_out: GivenOut,
    /// Bytes of all heaps after the last collection, and of their holes.
    sizes: BTreeMap<u32, (u64, u64)>,
    /// All methods compiled a second, where nobody counts them.
    pub(super) compiled_seen: Option<f64>,
    /// Bytes of objects, as seen from outside, and how many came a second.
    seen: Option<(f64, f64)>,
    counters: HashMap<String, Values>,
    http: HashMap<String, Values>,
}

/// Whether the runtime is asked to count, which it does in managed code: it compiles some, and makes some objects every second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// It is: the lengths of queues and the like are known nowhere else.
    #[default]
    Asked,
    /// There is nothing to be counted that cannot be seen otherwise.
    Unneeded,
}

/// Pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// How many.
    pub count: u64,
    /// Together, in nanoseconds.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub longest_ns: u64,
}

impl RuntimeSigns {
    /// The values of a counter of `System.Runtime`, when it has it.
    #[must_use]
    pub fn counter(&self, name: &str) -> Option<&Values> {
        self.counters.get(name).filter(|values| !values.0.is_empty())
    }

    /// The values of a counter of `System.Net.Http`, when it has it.
    #[must_use]
    pub fn http_counter(&self, name: &str) -> Option<&Values> {
        self.http.get(name).filter(|values| !values.0.is_empty())
    }

    fn add_collection(&mut self, at_ns: u64, heap: u32, generations: &[GenerationHistory], beside: bool) {
        self.given_out.collected(at_ns, heap, generations, beside);
        let holes = total(generations, |one| one.free_list_after.saturating_add(one.free_objects_after));
        self.sizes.insert(heap, (total(generations, |one| one.size_after), holes));
    }

    /// What was seen of the heap from outside: for those who count nothing and did not collect.
    pub(super) fn add_seen(&mut self, managed: &Course) {
        let Some((first, last)) = managed.0.first().zip(managed.0.last()) else { return };
        let came = last.saturating_add(self.given_out.freed).saturating_sub(*first);
        self.seen = Some((*last as f64, self.rate(came)));
    }

    /// Bytes allocated per second: as counted, or as collections or the growth of the heap show.
    #[must_use]
    pub fn allocated(&self) -> Option<f64> {
        let counted = self.counter("alloc-rate").map(Values::mean);
        counted.or_else(|| self.given_out.rate()).or_else(|| Some(self.seen?.1))
    }

    /// The part of the heap that is holes since the last collection, in per cent.
    #[must_use]
    pub fn holes(&self) -> Option<f64> {
        let told = || {
            let (all, holes) = (
                total(self.sizes.values(), |(all, _)| *all),
                total(self.sizes.values(), |(_, holes)| *holes),
            );
            (all > 0).then(|| holes as f64 / all as f64 * 100.0)
        };
        self.counter("gc-fragmentation").map(Values::last).or_else(told)
    }

    /// A number of events per second.
    #[must_use]
    pub fn rate(&self, count: u64) -> f64 {
        count as f64 / self.window.as_secs_f64().max(0.001)
    }

    /// The part of the window in pauses for collections, in per cent.
    #[must_use]
    pub fn gc_percent(&self) -> f64 {
        self.percent(self.gc_pauses.total_ns)
    }

    /// A time as a part of the window, in per cent.
    #[must_use]
    pub fn percent(&self, nanoseconds: u64) -> f64 {
        nanoseconds as f64 / (self.window.as_nanos() as f64).max(1.0) * 100.0
    }

    /// Methods compiled per second: as the runtime counts them, where it does, because events tell only of some.
    #[must_use]
    pub fn compiled_rate(&self) -> f64 {
        let events = rate_once_settled(self.compiled, self.window).unwrap_or(0.0);
        // The counter tells the total so far; the least step is what goes on all the time.
        let counted = self.counter("methods-jitted-count").and_then(|values| {
            values
                .0
                .windows(2)
                .map(|pair| pair.last().unwrap_or(&0.0) - pair.first().unwrap_or(&0.0))
                .reduce(f64::min)
        });
        // What is seen from outside may miss some that events tell of.
        counted.or_else(|| Some(self.compiled_seen?.max(events))).unwrap_or(events)
    }

    /// Whether all methods were counted; else those made at run time are not among them.
    #[must_use]
    pub fn counts_compiled(&self) -> bool {
        self.compiled_seen.is_some() || self.counter("methods-jitted-count").is_some()
    }

    /// Bytes of generations 0 to 2 and of large objects after the last collection.
    #[must_use]
    pub fn generations(&self) -> Option<[f64; 4]> {
        if let Some(heap) = &self.heap {
            let sizes = [heap.gen0_bytes, heap.gen1_bytes, heap.gen2_bytes, heap.large_bytes];
            return Some(sizes.map(|bytes| bytes as f64));
        }
        let last = |name| self.counter(name).map(Values::last);
        Some([last("gen-0-size")?, last("gen-1-size")?, last("gen-2-size")?, last("loh-size")?])
    }

    /// Bytes of objects that have outlived a collection; all of the heap where there was none.
    #[must_use]
    pub fn lasting_bytes(&self) -> Option<f64> {
        let old = |heap: &HeapStats| {
            (heap.gen1_bytes + heap.gen2_bytes + heap.large_bytes + heap.pinned_bytes.unwrap_or(0)) as f64
        };
        self.heap.as_ref().map(old).or_else(|| self.heap_bytes())
    }

    /// Bytes on the heap, by what the last collection or the counter says.
    #[must_use]
    pub fn heap_bytes(&self) -> Option<f64> {
        let counted = self.counter("gc-heap-size").map(|values| values.last() * 1e6);
        let told = self.heap.as_ref().map(|heap| {
            let pinned = heap.pinned_bytes.unwrap_or(0);
            (heap.gen0_bytes + heap.gen1_bytes + heap.gen2_bytes + heap.large_bytes + pinned) as f64
        });
        counted.into_iter().chain(told).reduce(f64::max).or_else(|| Some(self.seen?.0))
    }
}

#[derive(Default)]
struct Listener {
    signs: RuntimeSigns,
    open: HashMap<ThreadId, (u64, SuspendReason)>,
    /// The collection that began last.
    collecting: Collecting,
    /// Whether the collection that ended last ran beside the program.
    is_concurrent: bool,
}

/// What a collection is, as far as its pause is counted by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Collecting {
    #[default]
    Unknown,
    Forced,
    Young,
    Full,
}

impl Observer for Listener {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>) {
        let signs = &mut self.signs;
        match event {
            RuntimeEvent::GcStart(start) => {
                if let Some(count) = signs.collections.get_mut(start.generation.0 as usize) {
                    *count += 1;
                }
                let asked = [GcReason::Induced, GcReason::InducedNotForced, GcReason::InducedCompacting];
                // A session that asks for a heap says so by its number.
                let is_asked = asked.contains(&start.reason) && start.client_sequence.unwrap_or(0) == 0;
                signs.induced += u64::from(is_asked);
                self.collecting = match start.generation.0 {
                    _ if is_asked => Collecting::Forced,
                    0 | 1 => Collecting::Young,
                    _ => Collecting::Full,
                };
            }
            RuntimeEvent::HeapStats(stats) => signs.heap = Some(*stats),
            RuntimeEvent::GlobalHeapHistory(history) => {
                signs.heaps = Some(history.decision.heaps);
                self.is_concurrent = history.decision.mechanisms & CONCURRENT != 0;
            }
            RuntimeEvent::PerHeapHistory(history) => {
                let generations: Vec<GenerationHistory> = history.generations().collect();
                signs.add_collection(seen.at_ns, history.heap, &generations, self.is_concurrent);
            }
            RuntimeEvent::SuspendBegin(begin) if self.open.len() < MOST_OPEN => {
                self.open.insert(seen.event.thread(), (seen.at_ns, begin.reason));
            }
            RuntimeEvent::RestartEnd(_) => self.restarted(seen),
            RuntimeEvent::ExceptionThrown(_) => signs.exceptions += 1,
            RuntimeEvent::ContentionStart(_) => signs.lock_waits += 1,
            RuntimeEvent::ContentionStop(stop) => {
                signs.lock_waited_ns += stop.nanoseconds.filter(|waited| waited.is_finite()).unwrap_or(0.0);
            }
            RuntimeEvent::Adjustment(adjustment) if adjustment.reason == AdjustmentReason::Starvation => {
                signs.starvations += 1;
            }
            RuntimeEvent::MethodLoad(_) if Duration::from_nanos(seen.at_ns) > SETTLED => signs.compiled += 1,
            RuntimeEvent::EventCounter(counter) => {
                let value = match counter.reading {
                    CounterReading::Mean { mean, .. } => mean,
                    // A timer that is late makes the interval longer.
                    CounterReading::Increment(by) if counter.interval_seconds >= SHORTEST_INTERVAL => {
                        by / f64::from(counter.interval_seconds)
                    }
                    _ => return,
                };
                if !value.is_finite() {
                    return;
                }
                let counters = match seen.event.metadata.provider.as_str() {
                    COUNTERS => &mut signs.counters,
                    HTTP => &mut signs.http,
                    _ => return,
                };
                counters.entry(counter.name.to_string()).or_default().0.push(value);
            }
            _ => {}
        }
    }
}

impl Listener {
    fn restarted(&mut self, seen: &Seen<'_>) {
        if let Some((begin, reason)) = self.open.remove(&seen.event.thread()) {
            self.stopped(seen.at_ns.saturating_sub(begin), reason);
        }
    }

    /// A pause that lasts beyond the window is at least as long as what was seen of it.
    fn ended(&mut self, window: Duration) {
        let end = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
        for (begin, reason) in std::mem::take(&mut self.open).into_values() {
            self.stopped(end.saturating_sub(begin), reason);
        }
    }

    fn stopped(&mut self, length: u64, reason: SuspendReason) {
        if matches!(reason, SuspendReason::Gc | SuspendReason::GcPrepare) {
            let pauses = &mut self.signs.gc_pauses;
            pauses.count += 1;
            pauses.total_ns += length;
            pauses.longest_ns = pauses.longest_ns.max(length);
            match self.collecting {
                Collecting::Forced => self.signs.forced_ns += length,
                Collecting::Young => self.signs.young_ns += length,
                Collecting::Full => self.signs.longest_full_ns = self.signs.longest_full_ns.max(length),
                Collecting::Unknown => {}
            }
        } else {
            *self.signs.other_stops.entry(format!("{reason:?}")).or_default() += 1;
        }
    }
}

/// Methods compiled per second after the session's own; nothing of a window that is too short for that.
pub(super) fn rate_once_settled(compiled: u64, window: Duration) -> Option<f64> {
    let seconds = window.saturating_sub(SETTLED).as_secs_f64();
    (seconds > SHORTEST_SETTLED).then(|| compiled as f64 / seconds)
}

/// Listens until `wait` says stop.
pub fn listen(
    process: &DotnetProcess,
    counting: Counting,
    wait: impl FnMut(event_session::Waiting) -> Going,
) -> Result<Option<RuntimeSigns>, IpcError> {
    let Some(client) = process.client() else { return Ok(None) };
    let mut keywords =
        keyword::GC | keyword::EXCEPTION | keyword::CONTENTION | keyword::THREADING | keyword::JIT;
    // Such a runtime is not asked for names while it unloads code; looks need not listen for that again.
    if process.runtime_major().is_none_or(|major| major < NAMES_ARE_SAFE_SINCE) {
        keywords |= keyword::LOADER;
    }
    let counters = |name| Provider {
        arguments: "EventCounterIntervalSec=1".to_owned(),
        // Counters come whatever the level is; the events of the source do not.
        ..Provider::new(name, 0, Level::Critical)
    };
    let runtime = Provider::new(provider::RUNTIME, keywords, Level::Informational);
    let providers = match counting {
        Counting::Asked => vec![runtime, counters(COUNTERS), counters(HTTP)],
        Counting::Unneeded => vec![runtime],
    };
    let request =
        TraceRequest { rundown: Rundown::None, stacks: false, ..TraceRequest::new(BUFFER_MB, providers) };
    let mut driven = observe(&client, &request, Listener::default(), wait)?;
    driven.value.observer.ended(driven.elapsed);
    let mut signs = driven.value.observer.signs;
    signs.counting = counting;
    signs.window = driven.elapsed;
    signs.bytes = driven.bytes;
    signs.events = driven.value.events;
    signs.lost = driven.value.losses.events;
    signs.exited = driven.end == SessionEnd::TargetExited;
    Ok(Some(signs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(before: u64, after: u64) -> GenerationHistory {
        let mut generation = GenerationHistory::default();
        (generation.size_before, generation.size_after) = (before, after);
        generation
    }

    fn collection(young: (u64, u64), large: (u64, u64)) -> [GenerationHistory; 5] {
        let none = GenerationHistory::default();
        [generation(young.0, young.1), none, generation(500, 500), generation(large.0, large.1), none]
    }

    #[test]
    fn what_was_allocated_is_what_came_between_collections() {
        let mut told = RuntimeSigns { window: Duration::from_secs(4), ..RuntimeSigns::default() };
        assert_eq!(told.allocated(), None);
        told.add_collection(1_000_000_000, 0, &collection((100, 10), (50, 50)), false);
        assert_eq!(told.allocated(), None, "what came before the first one is not known");
        told.add_collection(2_000_000_000, 0, &collection((110, 20), (70, 70)), false);
        // One that began long ago says nothing of what came since, but that large objects have gone.
        told.add_collection(2_500_000_000, 0, &collection((40, 0), (70, 30)), true);
        told.add_collection(3_000_000_000, 0, &collection((60, 0), (40, 40)), false);
        assert_eq!(told.allocated(), Some((100.0 + 20.0 + 40.0 + 10.0) / 2.0));
    }

    #[test]
    fn without_collections_what_the_heap_grew_by_was_allocated() {
        let mut told = RuntimeSigns { window: Duration::from_secs(4), ..RuntimeSigns::default() };
        told.add_seen(&Course(vec![1_000, 1_200, 1_800]));
        assert_eq!((told.allocated(), told.heap_bytes()), (Some(200.0), Some(1_800.0)));
        assert_eq!(told.holes(), None);
        told.add_collection(1_000_000_000, 0, &collection((700, 100), (0, 0)), false);
        told.add_seen(&Course(vec![1_000, 1_500, 1_200]));
        assert_eq!(told.allocated(), Some(200.0), "200 more than at first, and 600 that have gone");
        assert_eq!(told.holes(), Some(0.0));
    }
}
