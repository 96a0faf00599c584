//! What the holder of a lock did while others waited for it, from samples of all threads.
//!
//! ```text
//! waiter     |-- waits ------------------------|gets it ...
//! owner      |-- samples count --|somebody gets the lock
//! ```

use std::collections::{BTreeMap, HashMap};

use nettrace::ThreadId;
use stacks::StackKey;

use super::watch::Lock;

/// Samples and waits that are kept: 10 and 11 MB.
const MOST_SAMPLES: usize = 400_000;
const MOST_WAITS: usize = 200_000;

/// A wait that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) lock: Lock,
    pub(super) owner: Option<ThreadId>,
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

/// Samples of threads that held a lock.
pub(super) type Held = HashMap<(ThreadId, StackKey), u64>;

/// Waits and samples, to be put together at the end: the stream is in order of time only within one thread.
#[derive(Debug, Default)]
pub(super) struct Holders {
    waits: Vec<Wait>,
    samples: Vec<(ThreadId, u64, StackKey)>,
}

impl Holders {
    pub(super) fn wait(&mut self, wait: Wait) {
        if self.waits.len() < MOST_WAITS {
            self.waits.push(wait);
        }
    }

    pub(super) fn sample(&mut self, at_ns: u64, thread: ThreadId, stack: StackKey) {
        if self.samples.len() < MOST_SAMPLES {
            self.samples.push((thread, at_ns, stack));
        }
    }

    /// For each lock, the stacks that its owners were seen in while others waited, with the number of samples.
    pub(super) fn held(&self) -> HashMap<Lock, Held> {
        let mut samples: BTreeMap<ThreadId, Vec<(u64, StackKey)>> = BTreeMap::new();
        for (thread, at_ns, stack) in &self.samples {
            samples.entry(*thread).or_default().push((*at_ns, *stack));
        }
        samples.values_mut().for_each(|of_thread| of_thread.sort_unstable());
        let mut by_lock: HashMap<Lock, Vec<&Wait>> = HashMap::new();
        for wait in &self.waits {
            by_lock.entry(wait.lock).or_default().push(wait);
        }
        let mut held: HashMap<Lock, Held> = HashMap::new();
        for (lock, waits) in by_lock {
            let mut spans = spans(&waits);
            // Several waiters know the same owner at the same time; a sample counts once.
            spans.sort_unstable();
            let mut counted: HashMap<ThreadId, u64> = HashMap::new();
            for (begin, end, holder) in spans {
                let begin = begin.max(counted.get(&holder).copied().unwrap_or(0));
                let Some(of_holder) = samples.get(&holder).filter(|_| begin < end) else { continue };
                let first = of_holder.partition_point(|(at, _)| *at < begin);
                for (_, stack) in of_holder[first..].iter().take_while(|(at, _)| *at < end) {
                    *held.entry(lock).or_default().entry((holder, *stack)).or_default() += 1;
                }
                counted.insert(holder, end);
            }
        }
        held
    }
}

/// When who held a lock that others waited for.
fn spans(waits: &[&Wait]) -> Vec<(u64, u64, ThreadId)> {
    let mut gets: Vec<u64> = waits.iter().map(|wait| wait.end_ns).collect();
    gets.sort_unstable();
    let next_get = |after: u64| gets.get(gets.partition_point(|at| *at <= after)).copied();
    let mut spans = Vec::new();
    for wait in waits {
        if let Some(owner) = wait.owner {
            let until = next_get(wait.begin_ns).unwrap_or(wait.end_ns).min(wait.end_ns);
            spans.push((wait.begin_ns, until, owner));
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_count_for_whoever_holds_the_lock_while_others_wait() {
        let lock = Lock::Place(None);
        let [first, second, third] = [ThreadId(1), ThreadId(2), ThreadId(3)];
        let mut holders = Holders::default();
        holders.wait(Wait { lock, owner: Some(first), begin_ns: 100, end_ns: 200 });
        holders.wait(Wait { lock, owner: Some(first), begin_ns: 110, end_ns: 300 });
        for (at_ns, thread, stack) in [
            (90, first, 1),   // nobody waits yet
            (150, first, 2),  // holds
            (150, second, 3), // waits
            (210, first, 4),  // has let go
            (250, second, 5), // holds, but no wait begins that says so
            (250, third, 6),  // waits
            (310, third, 7),  // holds, but nobody waits
        ] {
            holders.sample(at_ns, thread, StackKey(stack));
        }
        let held = holders.held();
        assert_eq!(held[&lock], HashMap::from([((first, StackKey(2)), 1)]));
    }
}
