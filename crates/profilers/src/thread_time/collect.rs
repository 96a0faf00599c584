//! Collecting: every sample lasts until the next one of its thread.

use std::collections::HashMap;
use std::time::Duration;

use diagnostics_ipc::TraceRequest;
use discovery::DotnetProcess;
use event_session::{Going, Seen};
use model::{Cost, WindowEnd};
use runtime_events::RuntimeEvent;
use stacks::StackKey;

use crate::ProfilerError;
use crate::events::{Stacks, Watched, Watcher, watch_until};
use crate::profiler::Run;
use crate::ratio::nanos;
use crate::sampling::{BUFFER_MB, Calls, KindCount, Kinds, Mode, PauseMeter, Roster, sampler, suspensions};

/// A sample stands for no longer than this: a thread that was not looked at for longer did something unknown.
const LONGEST_SAMPLE_NS: u64 = 100_000_000;
/// What the last sample of a thread stands for, when the runtime does not say how often it looks.
const USUAL_INTERVAL: Duration = Duration::from_millis(1);
/// Between two looks at the names of threads.
const ROSTER_PERIOD: Duration = Duration::from_secs(1);

/// A stack, and whether managed code ran or was called out of.
pub(super) type Place = (Option<StackKey>, Mode);

/// One thread.
#[derive(Default)]
pub(super) struct ThreadSeen {
    pub(super) id: u64,
    pub(super) name: Option<String>,
    pub(super) samples: u64,
    /// Nanoseconds by place.
    pub(super) spent: HashMap<Place, u64>,
}

/// Everything that was seen.
pub(super) struct Collected {
    pub(super) calls: Calls,
    pub(super) kinds: Kinds,
    pub(super) threads: Vec<ThreadSeen>,
    /// Time of threads between samples that lie too far apart.
    pub(super) unseen_ns: u64,
    /// How often the sampler looked, and how often it should have.
    pub(super) rounds: u64,
    pub(super) rounds_due: u64,
    pub(super) measured: Duration,
    pub(super) end: WindowEnd,
    pub(super) cost: Cost,
    pub(super) notes: Vec<String>,
}

#[derive(Default)]
struct Timeline {
    seen: ThreadSeen,
    last: Option<(u64, Place)>,
}

#[derive(Default)]
struct Times {
    threads: HashMap<u64, Timeline>,
    unseen_ns: u64,
    kinds: KindCount,
    pauses: PauseMeter,
}

impl Watcher for Times {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, stacks: &mut Stacks) {
        let RuntimeEvent::Sample(sample) = event else {
            self.pauses.event(seen, event);
            return;
        };
        let id = seen.event.thread().0;
        let place = (stacks.key(seen.event.stack), Mode::from(sample.kind));
        let thread = self.threads.entry(id).or_default();
        thread.seen.id = id;
        thread.seen.samples += 1;
        self.kinds.add(place.1);
        if let Some((at, before)) = thread.last.replace((seen.at_ns, place)) {
            let gap = seen.at_ns.saturating_sub(at);
            let counted = gap.min(LONGEST_SAMPLE_NS);
            *thread.seen.spent.entry(before).or_default() += counted;
            self.unseen_ns += gap - counted;
        }
    }
}

pub(super) fn collect(run: &Run<'_>) -> Result<Collected, ProfilerError> {
    let request = TraceRequest::new(BUFFER_MB, vec![sampler(), suspensions()]);
    let mut roster = Roster::new(run.process);
    let mut looked = Duration::ZERO;
    let mut watched = watch_until(run, &request, Times::default(), |elapsed| {
        if elapsed.saturating_sub(looked) >= ROSTER_PERIOD {
            looked = elapsed;
            roster.iter_mut().for_each(Roster::refresh);
        }
        Going::On
    })?;
    let times = std::mem::take(&mut watched.watcher);
    let kinds = times.kinds.judge(run.process.runtime_version.as_deref());
    Ok(collected(run.process, times, kinds, watched, roster.as_ref()))
}

fn collected(
    process: &DotnetProcess,
    times: Times,
    kinds: Kinds,
    watched: Watched<Times>,
    roster: Option<&Roster>,
) -> Collected {
    let interval = watched.clock.and_then(|clock| clock.sample_interval).unwrap_or(USUAL_INTERVAL);
    let interval_ns = nanos(interval).max(1);
    let mut threads = Vec::with_capacity(times.threads.len());
    for (id, Timeline { mut seen, last }) in times.threads {
        if let Some((_, place)) = last {
            *seen.spent.entry(place).or_default() += interval_ns;
        }
        seen.name = roster.and_then(|roster| roster.name(id)).map(str::to_owned);
        threads.push(seen);
    }
    threads.sort_by_key(|thread| thread.id);
    let most_samples = threads.iter().map(|thread| thread.samples).max().unwrap_or(0);
    let mut cost = watched.cost;
    cost.method =
        "samples of the runtime's own sampler (EventPipe); nothing loaded into the process".to_owned();
    cost.pauses = times.pauses.pauses;
    Collected {
        calls: Calls::named(&watched.stacks, &watched.code, process),
        kinds,
        threads,
        unseen_ns: times.unseen_ns,
        rounds: most_samples,
        rounds_due: nanos(watched.measured) / interval_ns,
        measured: watched.measured,
        end: watched.end,
        cost,
        notes: watched.notes,
    }
}
