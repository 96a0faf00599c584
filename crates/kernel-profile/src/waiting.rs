//! Waits that go on, and the stacks that are known of them.

use std::collections::HashMap;

use perf_sampler::{Leaving, SwitchId, Timestamp, Wait};

use crate::Side;
use crate::samples::{Place, Taken};

/// Threads whose wait goes on and has a stack: more than a process has.
const MOST_OPEN: usize = 1 << 17;

/// A wait that began with a stack.
#[derive(Clone, Copy)]
pub(crate) struct Open {
    pub(crate) id: SwitchId,
    pub(crate) place: Place,
    pub(crate) from: Timestamp,
    pub(crate) side: Side,
}

/// A thread that was looked at while it waited.
#[derive(Clone, Copy)]
pub(crate) struct SeenWaiting {
    /// When its wait began, as far as was known at the look.
    pub(crate) since: Timestamp,
    /// The time of the look.
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    pub(crate) place: Place,
}

/// Waits of one process that go on, by thread: a thread waits for one thing at a time.
#[derive(Default)]
pub(crate) struct Waiting {
    open: HashMap<u32, Open>,
    looks: HashMap<u32, SeenWaiting>,
    /// Threads that could run when they were looked at.
    runnable: HashMap<u32, Timestamp>,
}

impl Waiting {
    /// A thread leaves its CPU with a stack.
    pub(crate) fn leaves(&mut self, thread: u32, open: Open) {
        if self.open.len() < MOST_OPEN || self.open.contains_key(&thread) {
            self.open.insert(thread, open);
        }
    }

    /// A thread was looked at.
    pub(crate) fn looked(&mut self, thread: u32, seen: SeenWaiting) {
        if self.looks.len() < MOST_OPEN || self.looks.contains_key(&thread) {
            self.looks.insert(thread, seen);
        }
    }

    /// A thread could run at this moment.
    pub(crate) fn runs(&mut self, thread: u32, at: Timestamp) {
        if self.runnable.len() < MOST_OPEN || self.runnable.contains_key(&thread) {
            self.runnable.insert(thread, at);
        }
    }

    /// What a wait was. One that began before us is not told to be ready or not, unless a look met it: what can run does so
    /// until it does.
    pub(crate) fn side(&mut self, wait: &Wait) -> Side {
        let met = self.runnable.remove(&wait.thread.id.0);
        let ready = met.is_some_and(|at| wait.from <= at && at <= wait.to);
        match wait.leaving {
            Leaving::Preempted => Side::Ready,
            Leaving::Unknown if ready => Side::Ready,
            Leaving::Unknown | Leaving::Blocked => Side::OffCpu,
        }
    }

    /// A thread ended.
    pub(crate) fn ended(&mut self, thread: u32) {
        self.runnable.remove(&thread);
        self.open.remove(&thread);
        self.looks.remove(&thread);
    }

    /// A wait is over: what is known of its place, by the kernel's copy and by a look. A look counts only if it lies in the
    /// wait from begin to end: then the thread did not run in between, whatever was known when it was looked at.
    pub(crate) fn over(&mut self, wait: &Wait) -> (Option<Place>, Option<Place>) {
        let thread = wait.thread.id.0;
        let copied = wait.switch.and_then(|id| {
            let open = self.open.get(&thread).filter(|open| open.id == id)?.place;
            self.open.remove(&thread);
            Some(open)
        });
        let Some(look) = self.looks.get_mut(&thread) else { return (copied, None) };
        if wait.to < look.from {
            // It met the next wait.
            look.since = look.from;
            return (copied, None);
        }
        let place = look.place;
        let inside = wait.from <= look.from && look.to <= wait.to;
        self.looks.remove(&thread);
        (copied, inside.then_some(place))
    }

    /// Waits that went on at a moment, up to it.
    pub(crate) fn at(&self, until: Timestamp) -> impl Iterator<Item = Taken> + '_ {
        let open = self.open.iter().map(|(thread, open)| (*thread, open.from, open.place, open.side));
        let parked = self.looks.iter().filter(|(thread, _)| !self.open.contains_key(thread));
        let parked = parked.map(|(thread, look)| (*thread, look.since, look.place, Side::OffCpu));
        open.chain(parked).map(move |(thread, from, place, side)| {
            Taken::wait(thread, side, place, from, until.0.saturating_sub(from.0))
        })
    }

    /// The places of all waits, to number them anew.
    pub(crate) fn places(&mut self) -> impl Iterator<Item = &mut Place> {
        let open = self.open.values_mut().map(|open| &mut open.place);
        open.chain(self.looks.values_mut().map(|look| &mut look.place))
    }
}

#[cfg(test)]
mod tests {
    use model::{ProcessId, ThreadId};
    use perf_sampler::{Seen, Thread};
    use stacks::StackKey;

    use super::*;

    const COPIED: Place = Place::of(StackKey(1));
    const LOOKED: Place = Place::of(StackKey(2));

    fn wait(from: u64, to: u64, switch: Option<u64>) -> Wait {
        Wait {
            thread: Thread { process: ProcessId(1), id: ThreadId(7) },
            from: Timestamp(from),
            to: Timestamp(to),
            leaving: Leaving::Blocked,
            switch: switch.map(SwitchId),
            seen: Seen::Whole,
        }
    }

    fn look(from: u64, to: u64) -> SeenWaiting {
        SeenWaiting { since: Timestamp(0), from: Timestamp(from), to: Timestamp(to), place: LOOKED }
    }

    #[test]
    fn a_look_counts_for_the_wait_that_it_lies_in() {
        let mut waiting = Waiting::default();
        waiting.looked(7, look(20, 30));
        assert_eq!(waiting.over(&wait(10, 40, None)), (None, Some(LOOKED)));
        assert_eq!(waiting.over(&wait(10, 40, None)), (None, None), "and for one only");
        waiting.looked(7, look(20, 30));
        assert_eq!(waiting.over(&wait(10, 25, None)), (None, None), "it ran during the look");
        assert_eq!(waiting.over(&wait(26, 40, None)), (None, None));
    }

    #[test]
    fn a_look_that_came_late_belongs_to_the_next_wait() {
        let mut waiting = Waiting::default();
        waiting.looked(7, look(20, 30));
        assert_eq!(waiting.over(&wait(10, 15, None)), (None, None));
        let open: Vec<_> = waiting.at(Timestamp(50)).map(|taken| (taken.at.0, taken.weight_ns)).collect();
        assert_eq!(open, [(20, 30)]);
        assert_eq!(waiting.over(&wait(18, 60, None)), (None, Some(LOOKED)));
    }

    #[test]
    fn what_could_run_when_we_came_was_ready() {
        let mut waiting = Waiting::default();
        let unknown = Wait { leaving: Leaving::Unknown, ..wait(10, 40, None) };
        assert_eq!(waiting.side(&unknown), Side::OffCpu);
        waiting.runs(7, Timestamp(12));
        assert_eq!(waiting.side(&unknown), Side::Ready);
        assert_eq!(waiting.side(&unknown), Side::OffCpu, "it was another wait");
        waiting.runs(7, Timestamp(12));
        assert_eq!(waiting.side(&wait(10, 40, None)), Side::OffCpu, "the kernel's word counts");
    }

    #[test]
    fn a_copy_belongs_to_the_wait_it_began() {
        let mut waiting = Waiting::default();
        let open = Open { id: SwitchId(3), place: COPIED, from: Timestamp(10), side: Side::OffCpu };
        waiting.leaves(7, open);
        assert_eq!(waiting.over(&wait(0, 5, None)), (None, None));
        assert_eq!(waiting.over(&wait(10, 40, Some(3))), (Some(COPIED), None));
        waiting.leaves(7, open);
        waiting.ended(7);
        assert_eq!(waiting.at(Timestamp(50)).count(), 0);
    }
}
