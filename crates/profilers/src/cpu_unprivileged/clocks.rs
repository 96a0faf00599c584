//! The processor time of every thread, read again and again while the samples come.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use process_view::{ProcessorClock, monotonic_now};

use super::weigh::{Reading, Readings};
use crate::sampling::Roster;

/// Time between two readings of a thread that runs, unless reading takes long.
const PERIOD: Duration = Duration::from_millis(4);
/// Reading takes at most this part of one processor: one in so many.
const READ_SHARE: u32 = 50;
/// Threads that do not run are read once in so many rounds.
const REST_ROUNDS: u64 = 8;
/// Between two looks for new threads.
const ROSTER_PERIOD: Duration = Duration::from_millis(200);
/// Threads whose clocks are kept open; more are left out.
const MOST_CLOCKS: usize = 2000;

/// What a thread used over the whole time.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    pub(super) name: String,
    pub(super) ran_ns: u64,
    pub(super) waited_ns: u64,
}

/// The readings, between the thread that reads clocks and the one that reads events.
#[derive(Default)]
pub(super) struct Clocks {
    readings: Mutex<HashMap<u64, Readings>>,
    over: AtomicBool,
}

/// What came of reading.
pub(super) struct Read {
    /// By the id that the target knows a thread by.
    pub(super) threads: BTreeMap<u64, Used>,
    pub(super) rounds: u64,
    pub(super) left_out: usize,
}

struct Open {
    clock: ProcessorClock,
    first: (u64, u64),
    last: (u64, u64),
    rested: u64,
}

impl Clocks {
    /// Hands the readings of a thread over.
    pub(super) fn with<T>(&self, thread: u64, act: impl FnOnce(&mut Readings) -> T) -> T {
        act(self.lock().entry(thread).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Readings>> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the reader to stop.
    pub(super) fn stop(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Reads until it is told to stop.
    pub(super) fn read(&self, mut roster: Roster) -> Read {
        let mut open: HashMap<u64, Open> = HashMap::new();
        let mut looked: Option<Instant> = None;
        let (mut rounds, mut left_out) = (0, 0);
        loop {
            let over = self.over.load(Ordering::Acquire);
            let begin = Instant::now();
            if over || looked.is_none_or(|looked| looked.elapsed() >= ROSTER_PERIOD) {
                roster.refresh();
                left_out = open_new(&roster, &mut open, looked.is_some());
                looked = Some(begin);
            }
            self.round(&mut open, rounds, over);
            rounds += 1;
            if over {
                break;
            }
            std::thread::sleep(PERIOD.max(begin.elapsed() * READ_SHARE));
        }
        let used = |(id, open): (u64, Open)| {
            let name = roster.name(id).unwrap_or_default().to_owned();
            let ran_ns = open.last.0.saturating_sub(open.first.0);
            (id, Used { name, ran_ns, waited_ns: open.last.1.saturating_sub(open.first.1) })
        };
        Read { threads: open.into_iter().map(used).collect(), rounds, left_out }
    }

    fn round(&self, open: &mut HashMap<u64, Open>, round: u64, all: bool) {
        let mut readings = self.lock();
        for (id, thread) in open {
            let rests = thread.rested > REST_ROUNDS;
            if rests && !all && !(round + id).is_multiple_of(REST_ROUNDS) {
                continue;
            }
            // A thread that has ended keeps its last reading.
            let Some(now) = thread.clock.read() else { continue };
            let at_ns = u64::try_from(monotonic_now().as_nanos()).unwrap_or(u64::MAX);
            thread.rested = if now.ran_ns == thread.last.0 { thread.rested + 1 } else { 0 };
            thread.last = (now.ran_ns, now.waited_ns);
            readings.entry(*id).or_default().push(Reading { at_ns, ran_ns: now.ran_ns });
        }
    }
}

/// Opens the clocks of threads that are new; those that were born meanwhile count from zero.
fn open_new(roster: &Roster, open: &mut HashMap<u64, Open>, born: bool) -> usize {
    let mut left_out = 0;
    for (id, member) in roster.members() {
        if open.contains_key(&id) {
            continue;
        }
        if open.len() >= MOST_CLOCKS {
            left_out += 1;
            continue;
        }
        let Some(clock) = member.task.processor_clock() else { continue };
        let Some(now) = clock.read() else { continue };
        let last = (now.ran_ns, now.waited_ns);
        let first = if born { (0, 0) } else { last };
        open.insert(id, Open { clock, first, last, rested: 0 });
    }
    left_out
}
