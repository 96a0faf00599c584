//! The threads of a target as the scheduler counts them: names, and time with and without a processor.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use model::{ProcessId, ThreadId};
use process_view::{Process, ProcessorTime};
use stacks::Profile;

/// A thread that was there at the end or, if that is not known, at the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadClock {
    /// Its name, the latest that was seen.
    pub name: String,
    /// How long it ran meanwhile.
    pub ran: Duration,
    /// How long it could have run meanwhile, while others had the processors.
    pub ready: Duration,
    /// How often it gave up a processor to wait for something meanwhile; `None` when that is not known.
    pub rests: Option<u64>,
    /// From the first look to the last.
    pub looked: Duration,
}

/// Threads, looked at twice.
pub(crate) struct Roster {
    pid: ProcessId,
    begin: Instant,
    before: BTreeMap<ThreadId, (ProcessorTime, Option<u64>)>,
    threads: BTreeMap<ThreadId, ThreadClock>,
}

impl Roster {
    /// Looks for the first time.
    pub(crate) fn of(pid: ProcessId) -> Roster {
        let begin = Instant::now();
        let mut roster = Roster { pid, begin, before: BTreeMap::new(), threads: BTreeMap::new() };
        for (thread, name, time, rests) in look(pid) {
            roster.before.insert(thread, (time, rests));
            roster.threads.insert(thread, ThreadClock { name, ..ThreadClock::default() });
        }
        roster
    }

    /// Looks for the last time. Threads that are new since have all their time in between.
    pub(crate) fn finish(mut self) -> BTreeMap<ThreadId, ThreadClock> {
        for (thread, name, now, rests) in look(self.pid) {
            let (before, rested) =
                self.before.get(&thread).copied().unwrap_or((ProcessorTime::default(), Some(0)));
            let since = |now: u64, before: u64| Duration::from_nanos(now.saturating_sub(before));
            let clock = ThreadClock {
                name,
                ran: since(now.ran_ns, before.ran_ns),
                ready: since(now.waited_ns, before.waited_ns),
                rests: rests.zip(rested).map(|(now, before)| now.saturating_sub(before)),
                looked: self.begin.elapsed(),
            };
            self.threads.insert(thread, clock);
        }
        self.threads
    }
}

fn look(pid: ProcessId) -> impl Iterator<Item = (ThreadId, String, ProcessorTime, Option<u64>)> {
    let tasks = Process::new(pid).tasks().unwrap_or_default();
    tasks
        .into_iter()
        .filter_map(|task| Some((task.id, task.name().ok()?, task.processor_time()?, task.rests())))
}

/// The kernel tells of names that change; those that stay the same are known from looking.
pub(crate) fn name(profile: &mut Profile, threads: &BTreeMap<ThreadId, ThreadClock>) {
    for thread in profile.threads.iter_mut().filter(|thread| thread.name.is_none()) {
        let id = u32::try_from(thread.id).ok().map(ThreadId);
        thread.name = id.and_then(|id| threads.get(&id)).map(|clock| clock.name.clone());
    }
}
