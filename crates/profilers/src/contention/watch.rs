//! Collecting: every wait for a lock, from its beginning to its end.

use std::collections::{HashMap, HashSet};

use event_session::Seen;
use nettrace::ThreadId;
use runtime_events::contention::ContentionKind;
use runtime_events::{LockId, RuntimeEvent};
use stacks::StackKey;

use super::holders::{Holders, Wait};
use crate::capped::Capped;
use crate::events::{Stacks, Watcher};

/// Stacks and threads kept of one lock.
const MOST_PLACES: usize = 256;
const MOST_THREADS: usize = 4096;

/// What tells two locks apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Lock {
    /// Its number.
    Id(LockId),
    /// Where it is waited for: 3.1 does not tell more.
    Place(Option<StackKey>),
}

/// A number and a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) ns: u64,
}

impl Sum {
    pub(super) fn add(&mut self, ns: u64) {
        self.count += 1;
        self.ns = self.ns.saturating_add(ns);
    }
}

/// Waits for one lock.
#[derive(Clone, Default)]
pub(super) struct Waits {
    pub(super) all: Sum,
    pub(super) longest_ns: u64,
    /// Those that had not ended.
    pub(super) going_on: u64,
    pub(super) waiters: HashMap<Option<StackKey>, Sum>,
    /// Those who had it when a wait began.
    pub(super) owners: HashMap<ThreadId, Sum>,
    /// Where threads took it after they had waited.
    pub(super) taken: HashMap<(ThreadId, Option<StackKey>), u64>,
    /// Those who waited.
    pub(super) threads: HashSet<ThreadId>,
}

struct Open {
    begin_ns: u64,
    lock: Lock,
    owner: Option<ThreadId>,
    stack: Option<StackKey>,
}

/// What is known while the session runs.
#[derive(Default)]
pub(super) struct Watch {
    locks: Capped<Lock, Waits>,
    open: HashMap<ThreadId, Open>,
    /// Waits for locks inside the runtime itself.
    pub(super) native: Sum,
    /// Whether the runtime tells who owns a lock.
    pub(super) owners_told: bool,
    pub(super) holders: Option<Holders>,
}

impl Watch {
    pub(super) fn new(sampled: bool) -> Watch {
        Watch { holders: sampled.then(Holders::default), ..Watch::default() }
    }
}

impl Watcher for Watch {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, stacks: &mut Stacks) {
        let (at_ns, thread) = (seen.at_ns, seen.event.thread());
        match event {
            RuntimeEvent::ContentionStart(start) if start.kind != Some(ContentionKind::Native) => {
                let stack = stacks.key(seen.event.stack);
                let lock = start.lock.filter(|lock| lock.0 != 0).map_or(Lock::Place(stack), Lock::Id);
                self.owners_told |= start.owner.is_some();
                let owner = start.owner.filter(|owner| owner.0 != 0 && *owner != thread);
                self.open.insert(thread, Open { begin_ns: at_ns, lock, owner, stack });
            }
            RuntimeEvent::ContentionStop(stop) if stop.kind == ContentionKind::Native => {
                self.native.add(stop.nanoseconds.map_or(0, whole));
            }
            RuntimeEvent::ContentionStop(_) => {
                if let Some(open) = self.open.remove(&thread) {
                    self.close(&open, thread, at_ns);
                }
            }
            RuntimeEvent::Sample(_) => {
                if let (Some(holders), Some(stack)) = (&mut self.holders, stacks.key(seen.event.stack)) {
                    holders.sample(at_ns, thread, stack);
                }
            }
            _ => {}
        }
    }
}

/// Nanoseconds that came as a fraction; nonsense is nothing.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn whole(nanoseconds: f64) -> u64 {
    nanoseconds as u64
}

impl Watch {
    fn close(&mut self, open: &Open, thread: ThreadId, end_ns: u64) {
        let waits = self.locks.entry(open.lock);
        record(waits, open, thread, end_ns);
        *place(&mut waits.taken, (thread, open.stack)) += 1;
        if let Some(holders) = &mut self.holders {
            let wait = Wait { lock: open.lock, owner: open.owner, begin_ns: open.begin_ns, end_ns };
            holders.wait(wait);
        }
    }
}

fn record(waits: &mut Waits, open: &Open, thread: ThreadId, end_ns: u64) {
    let ns = end_ns.saturating_sub(open.begin_ns);
    waits.all.add(ns);
    waits.longest_ns = waits.longest_ns.max(ns);
    place(&mut waits.waiters, open.stack).add(ns);
    if let Some(owner) = open.owner
        && (waits.owners.len() < MOST_THREADS || waits.owners.contains_key(&owner))
    {
        waits.owners.entry(owner).or_default().add(ns);
    }
    if waits.threads.len() < MOST_THREADS {
        waits.threads.insert(thread);
    }
}

/// The value of a key; one of those that are there if there are too many.
fn place<K: Eq + std::hash::Hash + Copy, V: Default>(places: &mut HashMap<K, V>, key: K) -> &mut V {
    let full = places.len() >= MOST_PLACES && !places.contains_key(&key);
    let key = if full { places.keys().next().copied().unwrap_or(key) } else { key };
    places.entry(key).or_default()
}

impl Watch {
    /// The waits for each lock; those that still go on count until the end.
    pub(super) fn locks(&self, end_ns: u64) -> HashMap<Lock, Waits> {
        let mut locks: HashMap<Lock, Waits> =
            self.locks.iter().map(|(lock, waits)| (*lock, waits.clone())).collect();
        for (thread, open) in self.open.iter().filter(|(_, open)| open.begin_ns < end_ns) {
            let waits = locks.entry(open.lock).or_default();
            record(waits, open, *thread, end_ns);
            waits.going_on += 1;
        }
        locks
    }

    /// Waits for locks that had no room.
    pub(super) fn others(&self) -> Sum {
        self.locks.others.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_goes_on_counts_until_the_end() {
        let lock = Lock::Id(LockId(1));
        let (owner, stack) = (Some(ThreadId(9)), Some(StackKey(0)));
        let mut watch = Watch::new(false);
        watch.close(&Open { begin_ns: 100, lock, owner, stack }, ThreadId(1), 300);
        watch.open.insert(ThreadId(2), Open { begin_ns: 400, lock, owner, stack });
        watch.open.insert(ThreadId(3), Open { begin_ns: 1_100, lock, owner, stack });
        let locks = watch.locks(1_000);
        let waits = &locks[&lock];
        assert_eq!(waits.all, Sum { count: 2, ns: 800 });
        assert_eq!((waits.longest_ns, waits.going_on, waits.threads.len()), (600, 1, 2));
        assert_eq!(waits.owners[&ThreadId(9)], Sum { count: 2, ns: 800 });
    }

    #[test]
    fn nonsense_from_the_runtime_is_nothing() {
        assert_eq!((whole(f64::NAN), whole(-1.0), whole(f64::INFINITY)), (0, 0, u64::MAX));
    }
}
