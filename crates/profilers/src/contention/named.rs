//! Names for what was seen: frames, threads, locks.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use model::Frame;
use nettrace::ThreadId;
use stacks::StackKey;

use super::holders::{Held, Holders};
use super::watch::{Lock, Sum, Waits, Watch};
use crate::blame::{own_frame, own_place};
use crate::events::Watched;
use crate::ratio::nanos;
use crate::shortage::Shortage;

/// How the owner of a lock is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Owners {
    /// The runtime does not tell.
    #[default]
    Unknown,
    /// By where it took the lock, after it had waited itself.
    Taken,
    /// By samples while others waited.
    Sampled,
}

/// Waits for one lock, with names.
#[derive(Clone, Debug, Default)]
pub(super) struct Waited {
    pub(super) all: Sum,
    pub(super) longest_ns: u64,
    /// Threads that waited.
    pub(super) threads: u64,
    /// Waits that had not ended.
    pub(super) going_on: u64,
    /// Where, the longest first.
    pub(super) waiters: Vec<(Vec<Frame>, Sum)>,
    /// Who had it meanwhile, by time that others waited: threads.
    pub(super) owner_threads: Vec<(String, Sum)>,
    /// The same by code.
    pub(super) owners: Vec<(Vec<Frame>, u64)>,
    /// How many times longer these threads took than on a free machine.
    pub(super) slowdown: f64,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct AllWaited {
    /// By lock, the longest waited for first.
    pub(super) locks: Vec<Waited>,
    /// For locks that had no room.
    pub(super) others: Sum,
    /// For locks inside the runtime itself.
    pub(super) native: Sum,
    /// How owners are known.
    pub(super) known_by: Owners,
    /// Processors that were missing.
    pub(super) shortage: Shortage,
}

/// Gives names to what was seen. Waits that still go on count until the end.
pub(super) fn waited(
    watched: &Watched<Watch>,
    names: &HashMap<ThreadId, String>,
    shortage: &Shortage,
) -> AllWaited {
    let watch = &watched.watcher;
    let held = watch.holders.as_ref().map(Holders::held);
    let naming = Naming { watched, names, held: held.as_ref(), shortage };
    let all = watch.locks(nanos(watched.measured));
    let mut locks = one_for_each_place(all.iter().map(|(lock, waits)| (*lock, naming.lock(lock, waits))));
    locks.sort_by_key(|waited| Reverse(waited.all.ns));
    let known_by = match (held.is_some(), watch.owners_told) {
        (true, _) => Owners::Sampled,
        (false, true) => Owners::Taken,
        (false, false) => Owners::Unknown,
    };
    AllWaited { locks, others: watch.others(), native: watch.native, known_by, shortage: shortage.clone() }
}

struct Naming<'a> {
    watched: &'a Watched<Watch>,
    names: &'a HashMap<ThreadId, String>,
    held: Option<&'a HashMap<Lock, Held>>,
    shortage: &'a Shortage,
}

impl Naming<'_> {
    fn frames(&self, stack: Option<StackKey>) -> Vec<Frame> {
        stack.map(|stack| self.watched.frames(stack)).unwrap_or_default()
    }

    fn thread(&self, thread: ThreadId) -> String {
        match self.names.get(&thread) {
            Some(name) => format!("{name} (tid {thread})"),
            None => format!("tid {thread}"),
        }
    }

    fn lock(&self, lock: &Lock, waits: &Waits) -> Waited {
        let mut waiters: Vec<(Vec<Frame>, Sum)> =
            waits.waiters.iter().map(|(stack, sum)| (self.frames(*stack), *sum)).collect();
        waiters.sort_by_key(|(_, sum)| Reverse(sum.ns));
        let mut owners: Vec<(Vec<Frame>, u64)> = match self.held {
            Some(held) => self.sampled(held.get(lock), &waiters),
            None => taken(waits).into_iter().map(|(stack, ns)| (self.frames(Some(stack)), ns)).collect(),
        };
        owners.sort_by_key(|(_, weight)| Reverse(*weight));
        let mut owner_threads: Vec<(String, Sum)> =
            waits.owners.iter().map(|(thread, sum)| (self.thread(*thread), *sum)).collect();
        owner_threads.sort_by(|(a, less), (b, more)| more.ns.cmp(&less.ns).then_with(|| a.cmp(b)));
        Waited {
            all: waits.all,
            longest_ns: waits.longest_ns,
            threads: waits.threads.len() as u64,
            going_on: waits.going_on,
            waiters,
            owner_threads,
            owners,
            slowdown: self.shortage.slowdown_of(waits.threads.iter().chain(waits.owners.keys())),
        }
    }

    /// Samples of owners. One that has let go a moment ago is still called the owner, so for a thread that is seen in
    /// the methods that take the lock, only those samples count.
    fn sampled(&self, held: Option<&Held>, waiters: &[(Vec<Frame>, Sum)]) -> Vec<(Vec<Frame>, u64)> {
        let methods: HashSet<&str> =
            waiters.iter().filter_map(|(frames, _)| Some(own_frame(frames)?.name.as_str())).collect();
        let inside = |frames: &[Frame]| frames.iter().any(|frame| methods.contains(frame.name.as_str()));
        let named: Vec<(ThreadId, Vec<Frame>, u64)> = held
            .into_iter()
            .flatten()
            .map(|((thread, stack), count)| (*thread, self.frames(Some(*stack)), *count))
            .collect();
        let scoped: HashSet<ThreadId> =
            named.iter().filter(|(_, frames, _)| inside(frames)).map(|(thread, ..)| *thread).collect();
        let counts =
            named.into_iter().filter(|(thread, frames, _)| !scoped.contains(thread) || inside(frames));
        counts.map(|(_, frames, count)| (frames, count)).collect()
    }
}

/// Without their numbers, locks that are waited for in one place count as one, whoever called it.
fn one_for_each_place(all: impl Iterator<Item = (Lock, Waited)>) -> Vec<Waited> {
    let mut locks: Vec<Waited> = Vec::new();
    let mut places: HashMap<Option<String>, usize> = HashMap::new();
    for (lock, waited) in all {
        let Lock::Place(_) = lock else {
            locks.push(waited);
            continue;
        };
        let place = waited.waiters.first().and_then(|(frames, _)| own_place(frames));
        match places.get(&place).and_then(|known| locks.get_mut(*known)) {
            Some(known) => {
                merge(&mut known.all, waited.all);
                known.longest_ns = known.longest_ns.max(waited.longest_ns);
                // The same threads come by every call path.
                known.threads = known.threads.max(waited.threads);
                known.going_on += waited.going_on;
                known.waiters.extend(waited.waiters);
                known.waiters.sort_by_key(|(_, sum)| Reverse(sum.ns));
            }
            None => {
                places.insert(place, locks.len());
                locks.push(waited);
            }
        }
    }
    locks
}

fn merge(sum: &mut Sum, more: Sum) {
    sum.count += more.count;
    sum.ns = sum.ns.saturating_add(more.ns);
}

/// The time that others waited for each owner, shared out over the places where that owner takes the lock.
fn taken(waits: &Waits) -> HashMap<StackKey, u64> {
    let mut stacks = HashMap::new();
    for (owner, sum) in &waits.owners {
        let places = || {
            let own = waits.taken.iter().filter(|((thread, _), _)| thread == owner);
            own.filter_map(|((_, stack), count)| Some(((*stack)?, *count)))
        };
        let all: u64 = places().map(|(_, count)| count).sum();
        for (stack, count) in places() {
            *stacks.entry(stack).or_default() += sum.ns.checked_div(all).unwrap_or(0) * count;
        }
    }
    stacks
}
