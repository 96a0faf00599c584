//! What was seen at one instant, and what did not change until the next.

use std::collections::{BTreeMap, BTreeSet};

use model::ThreadId;

/// A lock, by an address that is its own while somebody waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockId(pub u64);

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// To enter a monitor: the `lock` statement, `Monitor.Enter`.
    Monitor,
    /// To enter a `System.Threading.Lock`.
    LockObject,
    /// A pulse: `Monitor.Wait`, and what is made of it. No one holds what it waits for.
    Pulse,
}

/// Who holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A thread that lives.
    Thread(ThreadId),
    /// A thread that is no more.
    Gone(ThreadId),
    /// Nobody, or it could not be read.
    Unknown,
}

/// A thread's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The lock.
    pub lock: LockId,
    /// What it waits for.
    pub what: WaitFor,
    /// Whether it gives up after some time.
    pub has_end: bool,
    /// Who holds the lock.
    pub holder: Holder,
}

/// What is seen of a thread, besides its wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Its stack: methods and addresses, innermost first.
    pub frames: Vec<(u64, u64)>,
    /// How often it gave up a processor so far, if that is known: one that did so again has run.
    pub rests: Option<u64>,
}

/// All threads at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The threads.
    pub threads: BTreeMap<ThreadId, Seen>,
    /// The innermost wait of those that wait.
    pub waits: BTreeMap<ThreadId, Wait>,
}

/// The threads of which two looks show the same: the same stack, the same wait, no run in between.
#[must_use]
pub fn unmoved(before: &Look, after: &Look) -> BTreeSet<ThreadId> {
    let is_same = |thread: ThreadId, seen: &Seen| {
        before.threads.get(&thread).is_some_and(|earlier| {
            earlier.frames == seen.frames
                && !seen.frames.is_empty()
                && !has_run(earlier.rests, seen.rests)
                && is_same_wait(before.waits.get(&thread), after.waits.get(&thread))
        })
    };
    after.threads.iter().filter(|(thread, seen)| is_same(**thread, seen)).map(|(thread, _)| *thread).collect()
}

fn has_run(before: Option<u64>, after: Option<u64>) -> bool {
    matches!((before, after), (Some(before), Some(after)) if before != after)
}

fn is_same_wait(before: Option<&Wait>, after: Option<&Wait>) -> bool {
    match (before, after) {
        (None, None) => true,
        (Some(before), Some(after)) => {
            // A lock object may be moved by the collector; a monitor stays.
            let stays = after.what != WaitFor::LockObject;
            before.what == after.what
                && before.holder == after.holder
                && before.has_end == after.has_end
                && (!stays || before.lock == after.lock)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: ThreadId = ThreadId(1);

    fn look(rests: Option<u64>, frame: u64, wait: Option<Wait>) -> Look {
        let seen = Seen { frames: vec![(frame, frame)], rests };
        Look { threads: [(ME, seen)].into(), waits: wait.map(|wait| (ME, wait)).into_iter().collect() }
    }

    fn wait(what: WaitFor, lock: u64, holder: u32) -> Wait {
        Wait { lock: LockId(lock), what, has_end: false, holder: Holder::Thread(ThreadId(holder)) }
    }

    fn stands(before: &Look, after: &Look) -> bool {
        unmoved(before, after).contains(&ME)
    }

    #[test]
    fn a_thread_that_ran_has_moved_even_if_it_is_back() {
        assert!(stands(&look(Some(5), 1, None), &look(Some(5), 1, None)));
        assert!(!stands(&look(Some(5), 1, None), &look(Some(6), 1, None)));
        assert!(!stands(&look(Some(5), 1, None), &look(Some(5), 2, None)));
        assert!(stands(&look(None, 1, None), &look(Some(6), 1, None)), "what is not known proves nothing");
    }

    #[test]
    fn another_lock_or_another_holder_is_a_move() {
        let see = |wait| look(Some(1), 1, Some(wait));
        let monitor = see(wait(WaitFor::Monitor, 10, 2));
        assert!(stands(&monitor, &monitor));
        assert!(!stands(&monitor, &see(wait(WaitFor::Monitor, 11, 2))));
        assert!(!stands(&monitor, &see(wait(WaitFor::Monitor, 10, 3))));
        assert!(!stands(&monitor, &look(Some(1), 1, None)));
        let object = see(wait(WaitFor::LockObject, 10, 2));
        assert!(stands(&object, &see(wait(WaitFor::LockObject, 99, 2))), "the collector moved it");
    }
}
