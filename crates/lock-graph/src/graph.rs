//! Cycles, and queues without one.

use std::collections::{BTreeMap, BTreeSet};

use model::ThreadId;

use crate::look::{Holder, Look, Wait, WaitFor};

/// Threads that wait for each other in a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Each waits for a lock that the next one holds, the last one for one of the first. The smallest id stands first.
    pub threads: Vec<ThreadId>,
    /// Threads outside that wait, directly or not, for one in it.
    pub behind: Vec<ThreadId>,
}

/// What the first of a queue does, for whom nobody else is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueEnd {
    /// A thread that holds a lock and waits for none.
    Thread(ThreadId),
    /// A thread that ended while it held a lock.
    Gone(ThreadId),
}

/// Threads that wait, directly or not, for one that waits for no lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Whom all wait for.
    pub end: QueueEnd,
    /// Those that wait for its locks.
    pub next: Vec<ThreadId>,
    /// Those that wait for them, and so on.
    pub behind: Vec<ThreadId>,
}

/// Who waits for whom at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitGraph {
    /// The rings.
    pub cycles: Vec<Cycle>,
    /// The rest, as far as the holders are known.
    pub queues: Vec<Queue>,
}

/// Where following a thread's wait leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leads {
    /// Into the ring with this number.
    Cycle(usize),
    To(QueueEnd),
    Nowhere,
}

impl WaitGraph {
    /// Follows all waits.
    #[must_use]
    pub fn of(look: &Look) -> WaitGraph {
        let mut walk = Walk { waits: &look.waits, leads: BTreeMap::new(), cycles: Vec::new() };
        for thread in look.waits.keys() {
            walk.follow(*thread);
        }
        let mut queues: BTreeMap<QueueEnd, Queue> = BTreeMap::new();
        for (thread, leads) in &walk.leads {
            match leads {
                Leads::Cycle(number) => {
                    if let Some(cycle) = walk.cycles.get_mut(*number)
                        && !cycle.threads.contains(thread)
                    {
                        cycle.behind.push(*thread);
                    }
                }
                Leads::To(end) => {
                    let new = || Queue { end: *end, next: Vec::new(), behind: Vec::new() };
                    let queue = queues.entry(*end).or_insert_with(new);
                    if walk.waits.get(thread).and_then(held_by) == Some(*end) {
                        queue.next.push(*thread);
                    } else {
                        queue.behind.push(*thread);
                    }
                }
                Leads::Nowhere => {}
            }
        }
        let queues = queues.into_values().filter(|queue| !queue.next.is_empty()).collect();
        WaitGraph { cycles: walk.cycles, queues }
    }
}

/// Whom a thread waits for.
fn held_by(wait: &Wait) -> Option<QueueEnd> {
    match (wait.what, wait.holder) {
        (WaitFor::Pulse, _) | (_, Holder::Unknown) => None,
        (_, Holder::Thread(thread)) => Some(QueueEnd::Thread(thread)),
        (_, Holder::Gone(thread)) => Some(QueueEnd::Gone(thread)),
    }
}

struct Walk<'a> {
    waits: &'a BTreeMap<ThreadId, Wait>,
    leads: BTreeMap<ThreadId, Leads>,
    cycles: Vec<Cycle>,
}

impl Walk<'_> {
    fn follow(&mut self, start: ThreadId) {
        let mut path = Vec::new();
        let mut on_path = BTreeSet::new();
        let mut at = start;
        let leads = loop {
            if let Some(known) = self.leads.get(&at) {
                break *known;
            }
            if !on_path.insert(at) {
                break self.close(&path, at);
            }
            match self.waits.get(&at).map(held_by) {
                // It waits for no lock: all before it wait for it.
                None | Some(None) if path.is_empty() => return,
                None | Some(None) => break Leads::To(QueueEnd::Thread(at)),
                Some(Some(QueueEnd::Gone(gone))) => {
                    path.push(at);
                    break Leads::To(QueueEnd::Gone(gone));
                }
                Some(Some(QueueEnd::Thread(next))) => {
                    path.push(at);
                    at = next;
                }
            }
        };
        for thread in path {
            self.leads.insert(thread, leads);
        }
    }

    fn close(&mut self, path: &[ThreadId], at: ThreadId) -> Leads {
        let start = path.iter().position(|thread| *thread == at).unwrap_or(0);
        let mut threads = path.get(start..).unwrap_or_default().to_vec();
        let smallest =
            threads.iter().enumerate().min_by_key(|(_, thread)| **thread).map_or(0, |(place, _)| place);
        threads.rotate_left(smallest);
        // A thread that waits for itself is none: a monitor can be entered twice. What was read is wrong.
        if threads.len() < 2 {
            return Leads::Nowhere;
        }
        self.cycles.push(Cycle { threads, behind: Vec::new() });
        Leads::Cycle(self.cycles.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::look::LockId;

    fn wait(holder: Holder) -> Wait {
        Wait { lock: LockId(1), what: WaitFor::Monitor, has_end: false, holder }
    }

    /// Thread number n waits for the one that stands at n; 0 is none, 99 one that is gone.
    fn graph(holders: &[u32]) -> WaitGraph {
        let mut look = Look::default();
        for (thread, &holder) in (1..).zip(holders) {
            match holder {
                0 => {}
                99 => drop(look.waits.insert(ThreadId(thread), wait(Holder::Gone(ThreadId(99))))),
                _ => drop(look.waits.insert(ThreadId(thread), wait(Holder::Thread(ThreadId(holder))))),
            }
        }
        WaitGraph::of(&look)
    }

    fn ids(numbers: &[u32]) -> Vec<ThreadId> {
        numbers.iter().map(|&number| ThreadId(number)).collect()
    }

    #[test]
    fn a_ring_and_who_stands_behind_it() {
        let graph = graph(&[2, 3, 1, 1, 4, 0]);
        assert_eq!(graph.cycles, [Cycle { threads: ids(&[1, 2, 3]), behind: ids(&[4, 5]) }]);
        assert!(graph.queues.is_empty());
    }

    #[test]
    fn two_rings_are_two() {
        let graph = graph(&[3, 4, 1, 2]);
        let threads: Vec<_> = graph.cycles.iter().map(|cycle| cycle.threads.clone()).collect();
        assert_eq!(threads, [ids(&[1, 3]), ids(&[2, 4])]);
    }

    #[test]
    fn contention_is_a_queue_behind_who_runs() {
        let graph = graph(&[3, 3, 0, 1]);
        let end = QueueEnd::Thread(ThreadId(3));
        assert!(graph.cycles.is_empty());
        assert_eq!(graph.queues, [Queue { end, next: ids(&[1, 2]), behind: ids(&[4]) }]);
    }

    #[test]
    fn a_lock_of_a_thread_that_is_gone_ends_the_queue() {
        let graph = graph(&[99, 1]);
        let end = QueueEnd::Gone(ThreadId(99));
        assert_eq!(graph.queues, [Queue { end, next: ids(&[1]), behind: ids(&[2]) }]);
    }

    #[test]
    fn a_thread_does_not_wait_for_itself_and_a_pulse_is_held_by_nobody() {
        assert_eq!(graph(&[1]), WaitGraph::default());
        let mut look = Look::default();
        let pulse = Wait { what: WaitFor::Pulse, ..wait(Holder::Thread(ThreadId(2))) };
        look.waits.insert(ThreadId(1), pulse);
        look.waits.insert(ThreadId(2), wait(Holder::Thread(ThreadId(1))));
        let graph = WaitGraph::of(&look);
        assert!(graph.cycles.is_empty());
        assert_eq!(graph.queues[0].end, QueueEnd::Thread(ThreadId(1)));
    }

    proptest! {
        #[test]
        fn a_thread_is_in_a_ring_exactly_if_following_it_comes_back(
            holders in prop::collection::vec(prop_oneof![0u32..20, Just(99u32)], 0..20),
        ) {
            let found = graph(&holders);
            let mut in_rings: Vec<u32> =
                found.cycles.iter().flat_map(|cycle| cycle.threads.iter().map(|thread| thread.0)).collect();
            in_rings.sort_unstable();
            let next = |at: u32| usize::try_from(at).ok().and_then(|at| holders.get(at.wrapping_sub(1))).copied();
            let comes_back = |start: u32| {
                let mut at = start;
                (0..holders.len()).any(|_| {
                    at = next(at).unwrap_or(0);
                    at == start
                })
            };
            let alone = |thread: u32| next(thread) == Some(thread);
            let count = u32::try_from(holders.len()).unwrap_or(0);
            let expected: Vec<u32> =
                (1..=count).filter(|&thread| comes_back(thread) && !alone(thread)).collect();
            prop_assert_eq!(in_rings, expected);
        }

        #[test]
        fn every_thread_stands_in_one_place_at_most(
            holders in prop::collection::vec(prop_oneof![0u32..20, Just(99u32)], 0..20),
        ) {
            let found = graph(&holders);
            let mut all: Vec<ThreadId> = Vec::new();
            for cycle in &found.cycles {
                all.extend(&cycle.threads);
                all.extend(&cycle.behind);
                prop_assert_eq!(cycle.threads.iter().min(), cycle.threads.first());
            }
            for queue in &found.queues {
                all.extend(&queue.next);
                all.extend(&queue.behind);
            }
            let many = all.len();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), many);
        }
    }
}
