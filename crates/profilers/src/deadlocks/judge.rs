//! What is wrong, from two looks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lock_graph::{Cycle, Look, QueueEnd, WaitFor, WaitGraph, unmoved};
use model::{Confidence, ThreadId};

use super::watch::Watched;
use crate::inside::Seen;
use crate::sampling::Doing;

/// Shorter windows prove nothing about a wait that may end.
const SHORTEST_PROOF: Duration = Duration::from_millis(900);
/// Blocked pool threads from which on a pool may be short of threads.
const FEWEST_BLOCKED: usize = 2;
/// And the part of those at work that is blocked, in per cent.
const MOST_BLOCKED: usize = 75;

/// What is wrong.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) deadlocks: Vec<Deadlock>,
    pub(super) orphans: Vec<Orphan>,
    pub(super) held: Vec<Held>,
    pub(super) pool: Option<BlockedPool>,
    /// Threads that waited for a lock in both looks, and moved in between or whose holder did.
    pub(super) contended: usize,
}

/// Threads that wait for each other.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Deadlock {
    pub(super) cycle: Cycle,
    pub(super) confidence: Confidence,
    /// Threads in it that give up after some time.
    pub(super) give_up: Vec<ThreadId>,
}

/// A lock whose holder has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Orphan {
    /// The thread that held it; 0 if its number is not known.
    pub(super) owner: ThreadId,
    /// Those that wait for it, and those behind them.
    pub(super) waiting: Vec<ThreadId>,
    pub(super) behind: Vec<ThreadId>,
    pub(super) confidence: Confidence,
}

/// A lock whose holder waits for something else that does not come.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) owner: ThreadId,
    pub(super) waiting: Vec<ThreadId>,
    pub(super) behind: Vec<ThreadId>,
    pub(super) confidence: Confidence,
    /// Whether its wait is known to have no end.
    pub(super) for_ever: bool,
}

/// Pool threads that all block on tasks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BlockedPool {
    pub(super) blocked: Vec<ThreadId>,
    /// Pool threads with work, those included.
    pub(super) at_work: usize,
    /// Whether this runtime shows which of its threads are free ones of the pool.
    pub(super) free_known: bool,
}

/// Whether threads wait, without a move, for locks that stand still: reason enough to look whose locks these are.
pub(super) fn has_stuck_lock(before: &Look, after: &Look) -> bool {
    let still = unmoved(before, after);
    let graph = WaitGraph::of(after);
    let is_still = |threads: &[ThreadId]| threads.iter().any(|thread| still.contains(thread));
    graph.cycles.iter().any(|cycle| is_still(&cycle.threads))
        || graph.queues.iter().any(|queue| match queue.end {
            QueueEnd::Gone(_) => is_still(&queue.next),
            QueueEnd::Thread(owner) => still.contains(&owner) && is_still(&queue.next),
        })
}

pub(super) fn judge(watched: &Watched) -> Verdict {
    let still = unmoved(&watched.before, &watched.after);
    let earlier = WaitGraph::of(&watched.before);
    let graph = WaitGraph::of(&watched.after);
    let mut verdict = Verdict::default();
    for cycle in graph.cycles {
        // The same ring, in which nobody has moved.
        let was_there = earlier.cycles.iter().any(|known| known.threads == cycle.threads);
        if was_there && cycle.threads.iter().all(|thread| still.contains(thread)) {
            verdict.deadlocks.push(deadlock(watched, cycle));
        }
    }
    for queue in graph.queues {
        let waiting: Vec<ThreadId> =
            queue.next.iter().copied().filter(|thread| still.contains(thread)).collect();
        let was_there = earlier.queues.iter().any(|known| known.end == queue.end);
        if waiting.is_empty() || !was_there {
            continue;
        }
        let behind = queue.behind.into_iter().filter(|thread| still.contains(thread)).collect();
        match queue.end {
            QueueEnd::Gone(owner) => {
                let confidence = confidence(watched, &waiting);
                verdict.orphans.push(Orphan { owner, waiting, behind, confidence });
            }
            QueueEnd::Thread(owner) if still.contains(&owner) && watched.apart >= SHORTEST_PROOF => {
                verdict.held.extend(held(watched, owner, waiting, behind));
            }
            QueueEnd::Thread(_) => {}
        }
    }
    if watched.apart >= SHORTEST_PROOF {
        verdict.pool = blocked_pool(watched, &still);
    }
    let judged = verdict.judged();
    let wants = |thread: &&ThreadId| watched.wants_lock(**thread) && !judged.contains(*thread);
    verdict.contended = watched.after.waits.keys().filter(wants).count();
    verdict
}

fn deadlock(watched: &Watched, cycle: Cycle) -> Deadlock {
    let gives_up = |thread: &&ThreadId| watched.after.waits.get(*thread).is_some_and(|wait| wait.has_end);
    let give_up: Vec<ThreadId> = cycle.threads.iter().filter(gives_up).copied().collect();
    let confidence = confidence(watched, &cycle.threads);
    Deadlock { cycle, confidence, give_up }
}

/// High, unless the kernel does not tell whether they ran meanwhile, or one gives up by itself.
fn confidence(watched: &Watched, threads: &[ThreadId]) -> Confidence {
    let is_sure = |thread: &ThreadId| {
        let seen = watched.after.threads.get(thread);
        let wait = watched.after.waits.get(thread);
        seen.is_some_and(|seen| seen.rests.is_some()) && wait.is_some_and(|wait| !wait.has_end)
    };
    if threads.iter().all(is_sure) { Confidence::High } else { Confidence::Medium }
}

/// A holder that stands still in a wait. What else keeps a thread from moving, such as a slow disk, is no illness of locks.
fn held(watched: &Watched, owner: ThreadId, waiting: Vec<ThreadId>, behind: Vec<ThreadId>) -> Option<Held> {
    let doing = watched.named(owner).map(|seen| seen.why.doing)?;
    // Who holds the lock that it wants is not known, so nothing is.
    if watched.wants_lock(owner) {
        return None;
    }
    if !matches!(doing, Doing::WaitsForSignal | Doing::WaitsForTask | Doing::WaitsForLock) {
        return None;
    }
    // Of some waits the runtime says whether they have an end.
    let pulse = watched.after.waits.get(&owner).filter(|wait| wait.what == WaitFor::Pulse);
    if pulse.is_some_and(|wait| wait.has_end) {
        return None;
    }
    let for_ever = pulse.is_some();
    let confidence = if for_ever { Confidence::Medium } else { Confidence::Low };
    Some(Held { owner, waiting, behind, confidence, for_ever })
}

/// A pool that has no thread left: all that are at work block on tasks, and none waits for work.
fn blocked_pool(watched: &Watched, still: &BTreeSet<ThreadId>) -> Option<BlockedPool> {
    let pool = || watched.sight.threads.iter().filter(|seen| seen.managed && seen.in_pool());
    let is_free = |seen: &&Seen| seen.is_idle() && seen.name.ends_with("Worker");
    if pool().any(|seen| is_free(&seen)) {
        return None;
    }
    let at_work: Vec<&Seen> = pool().filter(|seen| !seen.is_idle()).collect();
    let is_blocked =
        |seen: &&&Seen| seen.why.doing == Doing::WaitsForTask && still.contains(&ThreadId(seen.inside));
    let blocked: Vec<ThreadId> =
        at_work.iter().filter(is_blocked).map(|seen| ThreadId(seen.inside)).collect();
    let is_short = blocked.len() >= FEWEST_BLOCKED && blocked.len() * 100 >= at_work.len() * MOST_BLOCKED;
    // 3.1 does not name them.
    let free_known = at_work.iter().any(|seen| seen.name.ends_with("Worker"));
    is_short.then_some(BlockedPool { blocked, at_work: at_work.len(), free_known })
}

impl Verdict {
    /// All threads that something is said about.
    fn judged(&self) -> BTreeSet<ThreadId> {
        let mut all = BTreeSet::new();
        for deadlock in &self.deadlocks {
            all.extend(deadlock.cycle.threads.iter().chain(&deadlock.cycle.behind));
        }
        for orphan in &self.orphans {
            all.extend(orphan.waiting.iter().chain(&orphan.behind));
        }
        for held in &self.held {
            all.extend(held.waiting.iter().chain(&held.behind));
            all.insert(held.owner);
        }
        all
    }

    /// Whether there is nothing to say.
    pub(super) fn is_healthy(&self) -> bool {
        self.deadlocks.is_empty() && self.orphans.is_empty() && self.held.is_empty() && self.pool.is_none()
    }
}

/// Short names for the locks of a report: A, B, C in the order in which they are named.
#[derive(Debug, Default)]
pub(super) struct Letters {
    known: BTreeMap<u64, String>,
}

impl Letters {
    /// The name of the lock that a thread waits for.
    pub(super) fn of(&mut self, watched: &Watched, thread: ThreadId) -> Option<String> {
        let lock = watched.after.waits.get(&thread)?.lock.0;
        let next = self.known.len();
        Some(self.known.entry(lock).or_insert_with(|| letter(next)).clone())
    }
}

fn letter(number: usize) -> String {
    const ALL: usize = 26;
    let letter = u8::try_from(number % ALL).map_or('A', |place| char::from(b'A' + place));
    if number < ALL { letter.to_string() } else { format!("{letter}{}", number / ALL) }
}

#[cfg(test)]
mod tests {
    use super::letter;

    #[test]
    fn locks_beyond_the_alphabet_have_names_too() {
        assert_eq!([letter(0), letter(25), letter(26), letter(53)], ["A", "Z", "A1", "B2"]);
    }
}
