//! From the runtime's samples to time.
//!
//! The runtime looks at all managed threads in rounds. A sample stands for the time until the next sample of its
//! thread. A thread that is not there in the next round has ended: its time ends where that round begins.

use stacks::{StackKey, ThreadSlot};

/// A sample stands for no more time than this. Where rounds are further apart, events were lost or the process stood
/// still, and nobody knows what its threads would have done.
const LONGEST_NS: u64 = 1_000_000_000;

/// Some time of a thread on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub thread: ThreadSlot,
    pub at_ns: u64,
    pub length_ns: u64,
    pub stack: Option<StackKey>,
}

#[derive(Clone, Copy, Default)]
struct ThreadState {
    /// The sample whose length is not known yet.
    pending: Option<(u64, Option<StackKey>)>,
    /// The last round it was in; rounds count from 1.
    round: u64,
    /// How long its last sample but one was.
    usual_ns: Option<u64>,
}

/// The rounds of the runtime's sampler.
#[derive(Default)]
pub(crate) struct Sampler {
    round: u64,
    round_start: u64,
    threads: Vec<ThreadState>,
    /// Threads of the round before this one, and of this one.
    before: Vec<ThreadSlot>,
    now: Vec<ThreadSlot>,
    /// Time for which nobody knows where threads were.
    pub unknown_ns: u64,
}

impl Sampler {
    /// Takes in a sample; `known` gets what is now known.
    pub fn sample(
        &mut self,
        thread: ThreadSlot,
        at_ns: u64,
        stack: Option<StackKey>,
        mut known: impl FnMut(Span),
    ) {
        let place = thread.0 as usize;
        if self.threads.len() <= place {
            self.threads.resize(place + 1, ThreadState::default());
        }
        if self.round == 0 || self.threads[place].round == self.round {
            self.begin_round(at_ns, &mut known);
        }
        self.close(thread, at_ns, &mut known);
        let state = &mut self.threads[place];
        state.pending = Some((at_ns, stack));
        state.round = self.round;
        self.now.push(thread);
    }

    fn begin_round(&mut self, at_ns: u64, known: &mut impl FnMut(Span)) {
        // Who was there in the round before the one that has just ended, but not in that one, is gone.
        let before = std::mem::take(&mut self.before);
        for thread in &before {
            let state = self.threads.get(thread.0 as usize).copied().unwrap_or_default();
            if state.round + 1 == self.round {
                self.close(*thread, self.round_start, known);
            }
        }
        self.before = std::mem::replace(&mut self.now, before);
        self.now.clear();
        self.round += 1;
        self.round_start = at_ns;
    }

    /// The pending sample of a thread ends here.
    fn close(&mut self, thread: ThreadSlot, end_ns: u64, known: &mut impl FnMut(Span)) {
        let Some(state) = self.threads.get_mut(thread.0 as usize) else { return };
        let Some((at_ns, stack)) = state.pending.take() else { return };
        let whole = end_ns.saturating_sub(at_ns);
        let length_ns = whole.min(LONGEST_NS);
        self.unknown_ns = self.unknown_ns.saturating_add(whole - length_ns);
        state.usual_ns = Some(length_ns);
        known(Span { thread, at_ns, length_ns, stack });
    }

    /// No sample follows: the last ones are as long as the ones before them, or as the sampler's interval.
    pub fn finish(&mut self, interval_ns: u64, end_ns: u64, mut known: impl FnMut(Span)) {
        for place in 0..self.threads.len() {
            let ThreadState { pending, usual_ns, .. } = self.threads[place];
            let Some((at_ns, _)) = pending else { continue };
            let end = at_ns.saturating_add(usual_ns.unwrap_or(interval_ns)).min(end_ns.max(at_ns));
            self.close(ThreadSlot(u32::try_from(place).unwrap_or(u32::MAX)), end, &mut known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Feeds samples of (thread, milliseconds) and gives (thread, start, length), all in milliseconds.
    fn spans(samples: &[(u32, u64)], end: u64) -> (Vec<(u32, u64, u64)>, u64) {
        let mut sampler = Sampler::default();
        let mut spans = Vec::new();
        let mut known = |span: Span| spans.push((span.thread.0, span.at_ns / MS, span.length_ns / MS));
        for (thread, at) in samples {
            sampler.sample(ThreadSlot(*thread), at * MS, None, &mut known);
        }
        sampler.finish(10 * MS, end * MS, &mut known);
        spans.sort_unstable();
        (spans, sampler.unknown_ns / MS)
    }

    #[test]
    fn a_sample_lasts_until_the_next_one_of_its_thread() {
        let (spans, unknown) = spans(&[(0, 0), (1, 1), (0, 10), (1, 11), (0, 25), (1, 26)], 100);
        assert_eq!(spans, [(0, 0, 10), (0, 10, 15), (0, 25, 15), (1, 1, 10), (1, 11, 15), (1, 26, 15)]);
        assert_eq!(unknown, 0);
    }

    #[test]
    fn a_thread_that_is_gone_gets_no_more_time() {
        // Thread 1 is in the first round only; another one gets its number a second later.
        let (spans, _) = spans(&[(0, 0), (1, 1), (0, 10), (0, 20), (0, 30), (1, 31), (0, 40), (1, 41)], 100);
        let of_one: Vec<_> = spans.iter().filter(|span| span.0 == 1).collect();
        assert_eq!(of_one, [&(1, 1, 9), &(1, 31, 10), &(1, 41, 10)]);
    }

    #[test]
    fn a_gap_is_not_time_on_a_stack() {
        let (spans, unknown) = spans(&[(0, 0), (0, 10), (0, 60_010), (0, 60_020)], 60_025);
        assert_eq!(spans, [(0, 0, 10), (0, 10, 1000), (0, 60_010, 10), (0, 60_020, 5)]);
        assert_eq!(unknown, 59_000);
    }

    #[test]
    fn the_only_sample_of_a_thread_lasts_one_interval() {
        assert_eq!(spans(&[(0, 5)], 100).0, [(0, 5, 10)]);
        assert_eq!(spans(&[(0, 5)], 7).0, [(0, 5, 2)]);
    }
}
