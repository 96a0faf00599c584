//! Collecting: the pool's events and counters all the time, stacks in a few short looks.

use std::collections::BTreeMap;
use std::time::Duration;

use diagnostics_ipc::{Level, Provider, TraceRequest};
use event_session::{Going, Seen};
use model::{Cost, WindowEnd};
use runtime_events::counters::CounterReading;
use runtime_events::thread_pool::AdjustmentReason;
use runtime_events::{RuntimeEvent, keyword, provider};
use stacks::StackKey;

use super::look::{Looks, look};
use crate::ProfilerError;
use crate::events::{Stacks, Watcher, watch_until};
use crate::profiler::Run;
use crate::sampling::{Calls, Kinds, Mode};

/// The buffer in the target, in megabytes.
const BUFFER_MB: u32 = 32;
/// A look in which the runtime's sampler ran less often has seen next to nothing. On a free machine it runs every millisecond.
const FEWEST_ROUNDS: u64 = 5;
/// So many more looks may be taken for those that saw less.
const SPARE_LOOKS: u32 = 3;
/// The provider of the pool's counters.
const COUNTERS: &str = "System.Runtime";
/// Points of a line that are kept; a longer run keeps the first ones.
const MOST_POINTS: usize = 20_000;
/// Counters of a shorter interval than this, in seconds, tell nothing new.
const SHORTEST_INTERVAL: f32 = 0.2;

/// A value and when it was, in nanoseconds from the start.
pub(super) type Point = (u64, f64);

/// What the pool told.
#[derive(Default)]
pub(super) struct Told {
    /// Workers, by the pool's own events.
    pub(super) workers: Vec<(u64, u32)>,
    /// Threads of the pool, each second.
    pub(super) threads: Vec<Point>,
    /// Work items that wait, each second.
    pub(super) queue: Vec<Point>,
    /// Work items done, each second.
    pub(super) done: Vec<Point>,
    /// Why the pool wanted another number of threads, and how often.
    pub(super) reasons: BTreeMap<&'static str, u64>,
    /// Of these, how often because work waited.
    pub(super) starved: u64,
    pub(super) limits: Option<(u16, u16)>,
}

/// Everything that was seen.
pub(super) struct Collected {
    pub(super) told: Told,
    pub(super) calls: Calls,
    pub(super) kinds: Kinds,
    /// Samples by thread, stack and mode.
    pub(super) samples: BTreeMap<(u64, Option<StackKey>, Mode), u64>,
    pub(super) rounds: u64,
    pub(super) looks: u64,
    pub(super) measured: Duration,
    pub(super) end: WindowEnd,
    pub(super) cost: Cost,
    pub(super) notes: Vec<String>,
}

/// In the words of the pool's documentation.
fn words(reason: AdjustmentReason) -> &'static str {
    match reason {
        AdjustmentReason::Warmup => "warmup",
        AdjustmentReason::Initializing => "initializing",
        AdjustmentReason::RandomMove => "random move",
        AdjustmentReason::ClimbingMove => "climbing move",
        AdjustmentReason::ChangePoint => "change point",
        AdjustmentReason::Stabilizing => "stabilizing",
        AdjustmentReason::Starvation => "starvation",
        AdjustmentReason::ThreadTimedOut => "thread timed out",
        AdjustmentReason::CooperativeBlocking => "cooperative blocking",
        _ => "other",
    }
}

fn keep<T>(points: &mut Vec<T>, point: T) {
    if points.len() < MOST_POINTS {
        points.push(point);
    }
}

impl Watcher for Told {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, _: &mut Stacks) {
        match event {
            RuntimeEvent::WorkerStart(workers)
            | RuntimeEvent::WorkerStop(workers)
            | RuntimeEvent::WorkerWait(workers)
                if self.workers.last().is_none_or(|(_, last)| *last != workers.active) =>
            {
                keep(&mut self.workers, (seen.at_ns, workers.active));
            }
            RuntimeEvent::Adjustment(adjustment) => {
                *self.reasons.entry(words(adjustment.reason)).or_default() += 1;
                // From .NET 6 on the pool is told when its threads block on tasks, and need not starve first.
                let starved = [AdjustmentReason::Starvation, AdjustmentReason::CooperativeBlocking]
                    .contains(&adjustment.reason);
                let grows = self.workers.last().is_none_or(|(_, now)| adjustment.workers > *now);
                self.starved += u64::from(starved && grows);
            }
            RuntimeEvent::MinMaxThreads(limits) => {
                self.limits = Some((limits.min_workers, limits.max_workers))
            }
            RuntimeEvent::EventCounter(counter) if counter.interval_seconds >= SHORTEST_INTERVAL => {
                let value = match counter.reading {
                    CounterReading::Mean { mean, .. } => mean,
                    CounterReading::Increment(increment) => increment / f64::from(counter.interval_seconds),
                    _ => return,
                };
                match counter.name.to_string().as_str() {
                    "threadpool-thread-count" => keep(&mut self.threads, (seen.at_ns, value)),
                    "threadpool-queue-length" => keep(&mut self.queue, (seen.at_ns, value)),
                    "threadpool-completed-items-count" => keep(&mut self.done, (seen.at_ns, value)),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

fn request() -> TraceRequest {
    let mut counters = Provider::new(COUNTERS, 0, Level::Critical);
    counters.arguments = "EventCounterIntervalSec=1".to_owned();
    let pool = Provider::new(provider::RUNTIME, keyword::THREADING, Level::Informational);
    TraceRequest::new(BUFFER_MB, vec![pool, counters])
}

pub(super) fn collect(run: &Run<'_>) -> Result<Collected, ProfilerError> {
    let client = run.process.client().ok_or(ProfilerError::NoRuntime)?;
    let wanted = run.settings.integer("looks");
    let length = Duration::from_millis(run.settings.integer("look-ms"));
    // Spread over the window, none at its very start or end.
    let apart = run.duration / u32::try_from(wanted + 1).unwrap_or(u32::MAX);
    let (mut begun, mut looks, mut failed) = (0u32, Looks::default(), None);
    let mut spare = SPARE_LOOKS;
    let watched = watch_until(run, &request(), Told::default(), |elapsed| {
        let fits = run.duration.saturating_sub(elapsed) > length;
        if u64::from(begun) < wanted && elapsed >= apart * (begun + 1) && fits {
            begun += 1;
            let before = looks.rounds;
            match look(&client, length, std::mem::take(&mut looks)) {
                Ok(more) => looks = more,
                Err(error) => failed = Some(error),
            }
            // Where all processors are taken, the runtime's sampler may hardly have run: such a look has seen nothing.
            if looks.rounds < before + FEWEST_ROUNDS && spare > 0 {
                spare -= 1;
                begun -= 1;
            }
        }
        Going::On
    })?;
    let mut notes = watched.notes.clone();
    if let Some(error) = failed {
        notes.push(format!("a look at the stacks failed: {error}"));
    }
    let mut cost = watched.cost.clone();
    cost.method = format!(
        "events of the runtime (EventPipe); stacks sampled {} times for {} ms",
        looks.looks,
        length.as_millis()
    );
    cost.pauses = looks.pauses;
    cost.bytes += looks.bytes;
    cost.events += looks.events;
    Ok(Collected {
        calls: Calls::named(&looks.stacks, &watched.code, run.process),
        kinds: looks.kinds.judge(run.process.runtime_version.as_deref()),
        samples: looks.samples.into_iter().collect(),
        rounds: looks.rounds,
        looks: looks.looks,
        measured: watched.measured,
        end: watched.end,
        cost,
        notes,
        told: watched.watcher,
    })
}
