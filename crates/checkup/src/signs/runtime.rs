//! What the runtime says of itself in the window: one session without stacks and without names of code, which costs the
//! target next to nothing.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use diagnostics_ipc::{IpcError, Level, Provider, Rundown, TraceRequest};
use discovery::DotnetProcess;
use event_session::{Going, NAMES_ARE_SAFE_SINCE, Observer, Seen, SessionEnd, observe};
use judgement::signs::{Counting, HeapAfterCollection, RuntimeSigns};
use nettrace::ThreadId;
use runtime_events::counters::CounterReading;
use runtime_events::gc::{GcReason, HeapStats, SuspendReason};
use runtime_events::gc_history::GenerationHistory;
use runtime_events::thread_pool::AdjustmentReason;
use runtime_events::{RuntimeEvent, keyword, provider};

use super::given_out::{GivenOut, total};

/// Buffer in the target, in megabytes: events without stacks are some hundred bytes.
const BUFFER_MB: u32 = 16;
/// The runtime's own event source of counters.
const COUNTERS: &str = "System.Runtime";
/// The event source of outgoing HTTP calls, which counts them too (.NET 5).
const HTTP: &str = "System.Net.Http";
/// Threads that may be in a pause at once; one does it.
const MAX_OPEN: usize = 64;
/// Our own session makes the runtime compile what it needs for it, within this time.
pub(super) const SETTLED: Duration = Duration::from_millis(1500);

/// Of the mechanisms of a collection: it ran beside the program.
const CONCURRENT: u32 = 1;

/// Shorter than this, in seconds, what is compiled after that tells nothing.
pub(super) const SHORTEST_SETTLED: f64 = 0.5;

/// Increments of a shorter interval than this, in seconds, tell nothing.
const SHORTEST_INTERVAL: f32 = 0.2;

/// What came of a session.
#[derive(Debug, Default)]
pub struct Heard {
    /// The signs.
    pub signs: RuntimeSigns,
    /// Bytes that collections freed.
    pub freed: u64,
}

#[derive(Default)]
struct Listener {
    signs: RuntimeSigns,
    /// Methods compiled, after the session's own.
    compiled: u64,
    /// What collections report of the memory that was given out.
    given_out: GivenOut,
    /// Bytes of all heaps after the last collection, and of their holes.
    sizes: BTreeMap<u32, (u64, u64)>,
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
            RuntimeEvent::HeapStats(stats) => signs.heap = Some(heap_after(stats)),
            RuntimeEvent::GlobalHeapHistory(history) => {
                signs.heaps = Some(history.decision.heaps);
                self.is_concurrent = history.decision.mechanisms & CONCURRENT != 0;
            }
            RuntimeEvent::PerHeapHistory(history) => {
                let generations: Vec<GenerationHistory> = history.generations().collect();
                self.add_collection(seen.at_ns, history.heap, &generations, self.is_concurrent);
            }
            RuntimeEvent::SuspendBegin(begin) if self.open.len() < MAX_OPEN => {
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
            RuntimeEvent::MethodLoad(_) if Duration::from_nanos(seen.at_ns) > SETTLED => self.compiled += 1,
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

fn heap_after(stats: &HeapStats) -> HeapAfterCollection {
    HeapAfterCollection {
        gen0_bytes: stats.gen0_bytes,
        gen1_bytes: stats.gen1_bytes,
        gen2_bytes: stats.gen2_bytes,
        large_bytes: stats.large_bytes,
        pinned_bytes: stats.pinned_bytes,
        finalization_count: stats.finalization_count,
        pinned_objects: stats.pinned_objects,
        handles: stats.handles,
    }
}

impl Listener {
    fn add_collection(&mut self, at_ns: u64, heap: u32, generations: &[GenerationHistory], beside: bool) {
        self.given_out.collected(at_ns, heap, generations, beside);
        let holes = total(generations, |one| one.free_list_after.saturating_add(one.free_objects_after));
        self.sizes.insert(heap, (total(generations, |one| one.size_after), holes));
    }

    /// The part of the heap that is holes since the last collection, in per cent.
    fn holes_left(&self) -> Option<f64> {
        let all = total(self.sizes.values(), |(all, _)| *all);
        let holes = total(self.sizes.values(), |(_, holes)| *holes);
        (all > 0).then(|| holes as f64 / all as f64 * 100.0)
    }

    /// What it has heard in a window.
    fn heard(mut self, window: Duration) -> Heard {
        self.ended(window);
        let freed = self.given_out.freed;
        let (given_out, holes_left) = (self.given_out.rate(), self.holes_left());
        let compiled_events = rate_once_settled(self.compiled, window).unwrap_or(0.0);
        Heard { signs: RuntimeSigns { window, given_out, holes_left, compiled_events, ..self.signs }, freed }
    }

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
) -> Result<Option<Heard>, IpcError> {
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
    let driven = observe(&client, &request, Listener::default(), wait)?;
    let mut heard = driven.value.observer.heard(driven.elapsed);
    let signs = &mut heard.signs;
    signs.counting = counting;
    signs.bytes = driven.bytes;
    signs.events = driven.value.events;
    signs.lost = driven.value.losses.events;
    signs.exited = driven.end == SessionEnd::TargetExited;
    Ok(Some(heard))
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
        let mut listener = Listener::default();
        assert_eq!(listener.given_out.rate(), None);
        listener.add_collection(1_000_000_000, 0, &collection((100, 10), (50, 50)), false);
        assert_eq!(listener.given_out.rate(), None, "what came before the first one is not known");
        listener.add_collection(2_000_000_000, 0, &collection((110, 20), (70, 70)), false);
        // One that began long ago says nothing of what came since, but that large objects have gone.
        listener.add_collection(2_500_000_000, 0, &collection((40, 0), (70, 30)), true);
        listener.add_collection(3_000_000_000, 0, &collection((60, 0), (40, 40)), false);
        let heard = listener.heard(Duration::from_secs(4));
        assert_eq!(heard.signs.allocated(), Some((100.0 + 20.0 + 40.0 + 10.0) / 2.0));
        assert_eq!(heard.signs.holes(), Some(0.0));
    }

    #[test]
    fn what_collections_freed_is_known() {
        let mut listener = Listener::default();
        assert_eq!(listener.holes_left(), None);
        listener.add_collection(1_000_000_000, 0, &collection((700, 100), (0, 0)), false);
        assert_eq!(listener.heard(Duration::from_secs(4)).freed, 600);
    }
}
