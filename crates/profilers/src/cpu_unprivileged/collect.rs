//! Collecting: samples of all threads, and beside them their processor time.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use diagnostics_ipc::TraceRequest;
use event_session::Seen;
use model::{Cost, WindowEnd};
use runtime_events::RuntimeEvent;

use super::SPEC;
use super::clocks::{Clocks, Read, Used};
use super::weigh::{Ran, Weighed, Weigher, settle};
use crate::ProfilerError;
use crate::control::{Control, Stop};
use crate::events::{Stacks, Watcher, watch};
use crate::profiler::Run;
use crate::sampling::{
    BUFFER_MB, Calls, Doing, Doings, KindCount, Mode, PauseMeter, Roster, sampler, suspensions,
};

/// A thread that has samples.
pub(super) struct ThreadCpu {
    pub(super) used: Used,
    pub(super) weighed: Weighed,
}

/// Everything that was seen.
pub(super) struct Collected {
    pub(super) calls: Calls,
    /// Threads that run .NET code, by id.
    pub(super) threads: BTreeMap<u64, ThreadCpu>,
    /// The others.
    pub(super) outside: BTreeMap<u64, Used>,
    pub(super) samples: u64,
    pub(super) readings: u64,
    pub(super) measured: Duration,
    pub(super) end: WindowEnd,
    pub(super) cost: Cost,
    pub(super) notes: Vec<String>,
}

struct Weighing<'a> {
    clocks: &'a Clocks,
    threads: HashMap<u64, Weigher>,
    kinds: KindCount,
    pauses: PauseMeter,
}

impl Watcher for Weighing<'_> {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, stacks: &mut Stacks) {
        let RuntimeEvent::Sample(sample) = event else {
            self.pauses.event(seen, event);
            return;
        };
        let id = seen.event.thread().0;
        let place = (stacks.key(seen.event.stack), Mode::from(sample.kind));
        self.kinds.add(place.1);
        // On Linux the runtime's ticks are nanoseconds of the clock that the readings are stamped with.
        let at_ns = seen.event.header.timestamp.0;
        let thread = self.threads.entry(id).or_default();
        self.clocks.with(id, |readings| thread.sample(readings, at_ns, place));
    }
}

/// Stops the clocks when the user ends the run, so that the names' transfer is not counted.
struct Stopping<'a> {
    inner: &'a dyn Control,
    clocks: &'a Clocks,
}

impl Control for Stopping<'_> {
    fn wait(&self, time: Duration) -> Stop {
        let stop = self.inner.wait(time);
        if stop == Stop::Cancelled {
            self.clocks.stop();
        }
        stop
    }

    fn progress(&self, elapsed: Duration, total: Duration, note: &str) {
        if elapsed + Duration::from_millis(60) >= total {
            self.clocks.stop();
        }
        self.inner.progress(elapsed, total, note);
    }
}

pub(super) fn collect(run: &Run<'_>) -> Result<Collected, ProfilerError> {
    let roster = Roster::new(run.process).ok_or(ProfilerError::NotVisible { profiler: SPEC.id })?;
    let clocks = Clocks::default();
    let request = TraceRequest::new(BUFFER_MB, vec![sampler(), suspensions()]);
    let (watched, read) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| clocks.read(roster));
        let control = Stopping { inner: run.control, clocks: &clocks };
        // Its names come at once, or the clocks would run on while others are waited for.
        let run = Run { control: &control, sharing: None, ..*run };
        let weighing = Weighing {
            clocks: &clocks,
            threads: HashMap::new(),
            kinds: KindCount::default(),
            pauses: PauseMeter::default(),
        };
        let watched = watch(&run, &request, weighing);
        clocks.stop();
        let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        watched.map(|watched| (watched, read))
    })?;
    let calls = Calls::named(&watched.stacks, &watched.code, run.process);
    let Weighing { threads: weighers, kinds, pauses, .. } = watched.watcher;
    let mut doings = Doings::new(&calls, kinds.judge(run.process.runtime_version.as_deref()));
    for pattern in weighers.values().flat_map(|thread| thread.patterns.keys()) {
        for ((stack, mode), count) in &pattern.places {
            doings.count(*stack, *mode, u64::from(*count));
        }
    }
    let mut samples = 0;
    let Read { threads: mut used, rounds, left_out } = read;
    let mut threads = BTreeMap::new();
    for (id, mut thread) in weighers {
        clocks.with(id, |readings| thread.finish(readings));
        samples += thread.samples;
        let weighed = settle(&thread, |(stack, mode)| match doings.of(*stack, *mode) {
            Doing::Runs => Ran::Surely,
            Doing::Outside | Doing::Network | Doing::Files => Ran::Perhaps,
            _ => Ran::Hardly,
        });
        let used = used.remove(&id).unwrap_or_default();
        threads.insert(id, ThreadCpu { used, weighed });
    }
    drop(doings);
    let mut cost = watched.cost;
    cost.method = "samples of the runtime's own sampler (EventPipe), and /proc beside them".to_owned();
    cost.pauses = pauses.pauses;
    let mut notes = watched.notes;
    if left_out > 0 {
        notes.push(format!("{left_out} threads beyond the first 2000 are left out"));
    }
    Ok(Collected {
        calls,
        threads,
        outside: used,
        samples,
        readings: rounds,
        measured: watched.measured,
        end: watched.end,
        cost,
        notes,
    })
}
