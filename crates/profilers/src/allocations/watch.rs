//! Collecting: the allocations that were picked out, and the collections they made necessary.

use event_session::Seen;
use model::Frame;
use runtime_events::RuntimeEvent;
use runtime_events::allocation::{AllocationKind, AllocationSampled, AllocationTick};
use stacks::StackKey;

use crate::capped::Capped;
use crate::collections::{Collections, GcPause};
use crate::events::{Stacks, Watched, Watcher};
use crate::ratio::{fraction, nanos};

/// Bytes between two ticks, and on average between two random picks.
const PERIOD: f64 = AllocationSampled::MEAN_BYTES;

/// What some picked allocations stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Picked {
    /// How many were picked.
    pub(super) count: u64,
    /// How many bytes they stand for.
    pub(super) bytes: f64,
    /// The variance of that estimate, in square bytes.
    variance: f64,
}

impl Picked {
    /// One allocation that stands for so many bytes and had this chance of being picked.
    pub(super) fn one(bytes: f64, chance: f64) -> Picked {
        Picked { count: 1, bytes, variance: bytes * bytes * (1.0 - chance.clamp(0.0, 1.0)) }
    }

    pub(super) fn add(&mut self, more: &Picked) {
        self.count += more.count;
        self.bytes += more.bytes;
        self.variance += more.variance;
    }

    /// One standard deviation in per cent of the bytes: with `n` picks of small objects, one part in the root of `n`.
    pub(super) fn error_percent(&self) -> f64 {
        if self.bytes > 0.0 { 100.0 * self.variance.sqrt() / self.bytes } else { 0.0 }
    }
}

/// How allocations were picked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Picks {
    /// The one that goes over the next 100 kB.
    #[default]
    Ticks,
    /// At random, every byte with the same chance.
    Random,
}

/// What is known while the session runs.
#[derive(Default)]
pub(super) struct Watch {
    ticks: Capped<(String, Option<StackKey>), Picked>,
    random: Capped<(String, Option<StackKey>), Picked>,
    large_bytes: f64,
    collections: Collections,
}

impl Watcher for Watch {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, stacks: &mut Stacks) {
        match event {
            RuntimeEvent::AllocationTick(tick) => {
                let name = tick.type_name.map(|name| name.to_string()).unwrap_or_default();
                let picked = tick_of(tick);
                if tick.kind == AllocationKind::Large {
                    self.large_bytes += picked.bytes;
                }
                self.ticks.entry((name, stacks.key(seen.event.stack))).add(&picked);
            }
            RuntimeEvent::AllocationSampled(sample) => {
                let bytes = sample.represented_bytes();
                let chance = if bytes > 0.0 { fraction(sample.object_bytes) / bytes } else { 0.0 };
                let picked = Picked::one(bytes, chance);
                if sample.kind == AllocationKind::Large {
                    self.large_bytes += picked.bytes;
                }
                self.random.entry((sample.type_name.to_string(), stacks.key(seen.event.stack))).add(&picked);
            }
            event => self.collections.event(seen, event, stacks),
        }
    }
}

fn tick_of(tick: &AllocationTick<'_>) -> Picked {
    let bytes = fraction(tick.allocated_bytes());
    // An object that is larger than the period never escapes; before .NET 6 its size is not told.
    let object = match (tick.object_bytes, tick.kind) {
        (Some(size), _) => fraction(size),
        (None, AllocationKind::Small) => 0.0,
        (None, _) => bytes,
    };
    Picked::one(bytes, object / PERIOD)
}

/// When a session begins, the runtime describes its managed event sources, which takes about a megabyte.
fn begins_session(frame: &Frame) -> bool {
    frame.name.starts_with("System.Diagnostics.Tracing.EventPipeEventProvider.")
        || frame.name == "System.Diagnostics.Tracing.EventSource.SendCommand"
        || frame.name == "System.Diagnostics.Tracing.EventSource.EnsureDescriptorsInitialized"
}

/// What came of it, with names.
#[derive(Debug, Default)]
pub(super) struct Allocated {
    /// By type and stack, the largest first.
    pub(super) picked: Vec<(String, Vec<Frame>, Picked)>,
    /// Of types and places that had no room.
    pub(super) others: Picked,
    /// What the runtime allocated for our own session.
    pub(super) by_session: Picked,
    /// How they were picked.
    pub(super) picks: Picks,
    /// Bytes of large objects among them.
    pub(super) large_bytes: f64,
    /// The pauses for collections, in order of time.
    pub(super) pauses: Vec<GcPause>,
    /// Collections by generation.
    pub(super) begun: [u64; 3],
    /// Bytes that survived their first collection.
    pub(super) survived_bytes: u64,
}

/// Gives names to what was seen.
pub(super) fn allocated(watched: &Watched<Watch>) -> Allocated {
    let watch = &watched.watcher;
    let random = watch.random.iter().next().is_some();
    let (sums, picks) = if random { (&watch.random, Picks::Random) } else { (&watch.ticks, Picks::Ticks) };
    let mut picked: Vec<(String, Vec<Frame>, Picked)> = sums
        .iter()
        .map(|((name, stack), picked)| {
            (name.clone(), stack.map(|stack| watched.frames(stack)).unwrap_or_default(), *picked)
        })
        .collect();
    let mut by_session = Picked::default();
    picked.retain(|(_, frames, picked)| {
        let ours = frames.iter().any(begins_session);
        if ours {
            by_session.add(picked);
        }
        !ours
    });
    picked.sort_by(|(a, _, small), (b, _, large)| large.bytes.total_cmp(&small.bytes).then_with(|| a.cmp(b)));
    Allocated {
        picked,
        others: sums.others,
        by_session,
        picks,
        large_bytes: watch.large_bytes,
        pauses: watch.collections.pauses(nanos(watched.measured)),
        begun: watch.collections.begun,
        survived_bytes: watch.collections.survived_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_shrinks_with_the_root_of_the_picks_and_large_objects_have_none() {
        let mut small = Picked::default();
        for _ in 0..100 {
            small.add(&Picked::one(PERIOD, 0.0));
        }
        assert!((small.error_percent() - 10.0).abs() < 0.01, "{}", small.error_percent());
        assert!(Picked::one(1e9, 1.0).error_percent() < 0.01);
        assert!(Picked::default().error_percent() < 0.01);
    }
}
