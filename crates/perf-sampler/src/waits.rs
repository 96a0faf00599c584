//! Pairs the leaving of a CPU with the coming back: that is a wait.

use std::collections::HashMap;

use model::{ProcessId, ThreadId};

use crate::parse::Switch;
use crate::record::{Leaving, OpenWait, Seen, SwitchId, Thread, Timestamp, Wait};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It was there when we began, and has not moved since.
    NotSeen {
        since: Timestamp,
        leaving: Leaving,
    },
    /// It began while we looked, and has not run yet.
    New,
    On,
    Off {
        since: Timestamp,
        leaving: Leaving,
        switch: Option<SwitchId>,
    },
}

#[derive(Clone, Copy, Debug)]
struct Tracked {
    process: ProcessId,
    state: State,
    /// A stack that was told, whose switch comes next.
    stack: Option<SwitchId>,
}

/// Threads and whether they run. Grows with the threads alive.
#[derive(Debug)]
pub(crate) struct Waits {
    started: Timestamp,
    /// Whether threads are told of that nobody listed before.
    everybody: bool,
    threads: HashMap<ThreadId, Tracked>,
    next: u64,
    /// Switches whose other half is missing.
    pub(crate) unpaired: u64,
}

impl Waits {
    pub(crate) fn new(started: Timestamp, everybody: bool) -> Waits {
        Waits { started, everybody, threads: HashMap::new(), next: 0, unpaired: 0 }
    }

    /// A thread that was there when we began to look at its process. If it could run then, it has lost its CPU to another.
    pub(crate) fn present(&mut self, thread: Thread, since: Timestamp, leaving: Leaving) {
        self.set(thread, State::NotSeen { since, leaving });
    }

    /// A thread began.
    pub(crate) fn began(&mut self, thread: Thread) {
        self.set(thread, State::New);
    }

    /// A thread ended.
    pub(crate) fn ended(&mut self, thread: ThreadId) {
        self.threads.remove(&thread);
    }

    /// The stack of a thread that is about to leave its CPU. `None` when a second event tells it again.
    pub(crate) fn stack(&mut self, thread: Thread) -> Option<SwitchId> {
        let id = SwitchId(self.next);
        let tracked = self.tracked(thread);
        if tracked.stack.is_some() {
            return None;
        }
        tracked.stack = Some(id);
        self.next += 1;
        Some(id)
    }

    /// A thread left or came back; in the latter case its wait.
    pub(crate) fn switched(&mut self, thread: Thread, time: Timestamp, switch: Switch) -> Option<Wait> {
        let tracked = self.tracked(thread);
        let (before, stack) = (tracked.state, tracked.stack.take());
        let Switch::Out { preempted } = switch else {
            tracked.state = State::On;
            return match before {
                State::Off { since, leaving, switch } => {
                    Some(Wait { thread, from: since, to: time, leaving, switch, seen: Seen::Whole })
                }
                State::NotSeen { since, leaving } => Some(Wait {
                    thread,
                    from: since.min(time),
                    to: time,
                    leaving,
                    switch: None,
                    seen: Seen::BeganBefore,
                }),
                State::New => None,
                State::On => {
                    self.unpaired += 1;
                    None
                }
            };
        };
        let leaving = if preempted { Leaving::Preempted } else { Leaving::Blocked };
        tracked.state = State::Off { since: time, leaving, switch: stack };
        if matches!(before, State::Off { .. }) {
            self.unpaired += 1;
        }
        None
    }

    /// Waits that have not ended. `waits` says of a thread that never moved whether it waits.
    pub(crate) fn open(&mut self, end: Timestamp, waits: &dyn Fn(Thread) -> bool) -> Vec<Wait> {
        let mut waits: Vec<Wait> = std::mem::take(&mut self.threads)
            .into_iter()
            .filter_map(|(id, tracked)| {
                let thread = Thread { process: tracked.process, id };
                match tracked.state {
                    State::Off { since, leaving, switch } => {
                        let to = end.max(since);
                        Some(Wait { thread, from: since, to, leaving, switch, seen: Seen::NotEnded })
                    }
                    State::NotSeen { since, .. } if since < end && waits(thread) => Some(Wait {
                        thread,
                        from: since,
                        to: end,
                        leaving: Leaving::Unknown,
                        switch: None,
                        seen: Seen::Throughout,
                    }),
                    State::NotSeen { .. } | State::New | State::On => None,
                }
            })
            .collect();
        waits.sort_by_key(|wait| wait.thread.id);
        waits
    }

    /// Threads that wait now and would not run if they could.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = OpenWait> + '_ {
        self.threads.iter().filter_map(|(id, tracked)| {
            let thread = Thread { process: tracked.process, id: *id };
            match tracked.state {
                State::NotSeen { since, leaving } if leaving != Leaving::Preempted => {
                    Some(OpenWait { thread, since, has_stack: false })
                }
                State::Off { since, leaving, switch } if leaving != Leaving::Preempted => {
                    Some(OpenWait { thread, since, has_stack: switch.is_some() })
                }
                State::NotSeen { .. } | State::Off { .. } | State::New | State::On => None,
            }
        })
    }

    fn set(&mut self, thread: Thread, state: State) {
        self.threads.insert(thread.id, Tracked { process: thread.process, state, stack: None });
    }

    /// One we have not heard of is taken for running: if it comes back first, that is counted as unpaired. When
    /// everybody is told of, it was there before.
    fn tracked(&mut self, thread: Thread) -> &mut Tracked {
        let state = if self.everybody {
            State::NotSeen { since: self.started, leaving: Leaving::Unknown }
        } else {
            State::On
        };
        let new = Tracked { process: thread.process, state, stack: None };
        self.threads.entry(thread.id).or_insert(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: Switch = Switch::Out { preempted: false };
    const PREEMPTED: Switch = Switch::Out { preempted: true };
    const START: Timestamp = Timestamp(100);

    fn thread(id: u32) -> Thread {
        Thread { process: ProcessId(1), id: ThreadId(id) }
    }

    #[test]
    fn a_wait_is_from_leaving_to_coming_back() {
        let mut waits = Waits::new(START, false);
        let stack = waits.stack(thread(1));
        assert!(stack.is_some());
        assert_eq!(waits.stack(thread(1)), None, "told again by a second event");
        assert_eq!(waits.switched(thread(1), Timestamp(110), BLOCKS), None);
        let wait = waits.switched(thread(1), Timestamp(150), Switch::In).unwrap();
        assert_eq!((wait.from, wait.to), (Timestamp(110), Timestamp(150)));
        assert_eq!((wait.leaving, wait.switch, wait.seen), (Leaving::Blocked, stack, Seen::Whole));
        waits.switched(thread(1), Timestamp(160), PREEMPTED);
        let wait = waits.switched(thread(1), Timestamp(170), Switch::In).unwrap();
        assert_eq!((wait.leaving, wait.switch), (Leaving::Preempted, None), "a stack is used once");
        assert_eq!(waits.unpaired, 0);
    }

    #[test]
    fn what_began_before_or_has_not_ended_is_told_as_such() {
        let mut waits = Waits::new(START, false);
        for id in 1..=4 {
            waits.present(thread(id), START, Leaving::Unknown);
        }
        let wait = waits.switched(thread(1), Timestamp(130), Switch::In).unwrap();
        assert_eq!((wait.from, wait.to, wait.seen), (START, Timestamp(130), Seen::BeganBefore));
        waits.switched(thread(2), Timestamp(140), BLOCKS);
        let mut waiting: Vec<_> = waits.waiting().map(|wait| (wait.thread.id.0, wait.since.0)).collect();
        waiting.sort_unstable();
        assert_eq!(waiting, [(2, 140), (3, 100), (4, 100)]);
        let open = waits.open(Timestamp(200), &|thread| thread.id.0 != 4);
        let told: Vec<_> =
            open.iter().map(|wait| (wait.thread.id.0, wait.from.0, wait.to.0, wait.seen)).collect();
        assert_eq!(told, [(2, 140, 200, Seen::NotEnded), (3, 100, 200, Seen::Throughout)]);
        assert_eq!(waits.unpaired, 0);
    }

    #[test]
    fn of_a_whole_machine_every_thread_was_there_before() {
        let mut waits = Waits::new(START, true);
        let wait = waits.switched(thread(1), Timestamp(130), Switch::In).unwrap();
        assert_eq!((wait.from, wait.seen), (START, Seen::BeganBefore));
        waits.began(thread(2));
        assert_eq!(waits.switched(thread(2), Timestamp(130), Switch::In), None);
        assert_eq!(waits.unpaired, 0);
    }

    #[test]
    fn threads_that_begin_and_end_are_not_taken_for_waiting() {
        let mut waits = Waits::new(START, false);
        waits.began(thread(1));
        assert_eq!(waits.switched(thread(1), Timestamp(120), Switch::In), None);
        waits.switched(thread(1), Timestamp(130), BLOCKS);
        waits.ended(ThreadId(1));
        assert_eq!(waits.open(Timestamp(200), &|_| true), []);
        assert_eq!(waits.unpaired, 0);
    }

    #[test]
    fn lost_halves_are_counted() {
        let mut waits = Waits::new(START, false);
        waits.switched(thread(1), Timestamp(110), Switch::In);
        waits.switched(thread(1), Timestamp(120), BLOCKS);
        waits.switched(thread(1), Timestamp(130), BLOCKS);
        let wait = waits.switched(thread(1), Timestamp(150), Switch::In).unwrap();
        assert_eq!(wait.from, Timestamp(130), "the later leaving counts");
        assert_eq!(waits.unpaired, 2);
    }
}
