//! Samples, as few and as small as can be.

use std::collections::HashMap;

use perf_sampler::Timestamp;
use stacks::StackKey;

use crate::Side;

/// Waits of one thread in one place within this time are one.
const TOGETHER_NS: u64 = 100_000_000;
/// The same for waits of which no place is known.
const NOWHERE_TOGETHER_NS: u64 = 1_000_000_000;
const NONE: u32 = u32::MAX;

/// Where a thread was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    stack: u32,
    top: u32,
}

impl Place {
    pub(crate) const NOWHERE: Place = Place { stack: NONE, top: NONE };

    pub(crate) fn new(stack: Option<StackKey>, top: Option<u32>) -> Place {
        Place { stack: stack.map_or(NONE, |stack| stack.0), top: top.unwrap_or(NONE) }
    }

    /// A stack with nothing to put back.
    #[cfg(test)]
    pub(crate) const fn of(stack: StackKey) -> Place {
        Place { stack: stack.0, top: NONE }
    }

    /// Its stack of addresses.
    pub(crate) fn stack(self) -> Option<StackKey> {
        (self.stack != NONE).then_some(StackKey(self.stack))
    }

    /// In [`Tops`](crate::tops::Tops), when the innermost user frame may be managed.
    pub(crate) fn top(self) -> Option<u32> {
        (self.top != NONE).then_some(self.top)
    }
}

/// One sample, or some waits together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) at: Timestamp,
    pub(crate) weight_ns: u64,
    pub(crate) place: Place,
    pub(crate) thread: u32,
    /// How many waits, and how long each of them was.
    pub(crate) waits: u16,
    pub(crate) length: Length,
    pub(crate) side: Side,
}

/// How long a wait is: the power of two below its nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Length(u8);

impl Length {
    pub(crate) const fn of(nanoseconds: u64) -> Length {
        // From 0 to 63.
        #[expect(clippy::cast_possible_truncation, reason = "a u64 has 64 bits")]
        Length((63 - (nanoseconds | 1).leading_zeros()) as u8)
    }

    /// How many powers of two lie between.
    pub(crate) fn steps_to(self, other: Length) -> u8 {
        self.0.abs_diff(other.0)
    }
}

impl Taken {
    /// A sample of a running thread.
    pub(crate) fn running(thread: u32, place: Place, at: Timestamp, weight_ns: u64) -> Taken {
        Taken { at, weight_ns, place, thread, waits: 0, length: Length::of(0), side: Side::OnCpu }
    }

    /// A wait.
    pub(crate) fn wait(thread: u32, side: Side, place: Place, at: Timestamp, weight_ns: u64) -> Taken {
        Taken { at, weight_ns, place, thread, waits: 1, length: Length::of(weight_ns), side }
    }

    /// The part of it that lies between two moments. A sample on the CPU is a moment.
    pub(crate) fn within(mut self, since: Timestamp, until: Timestamp) -> Option<Taken> {
        if self.side == Side::OnCpu {
            return (since <= self.at && self.at < until).then_some(self);
        }
        let end = self.end().min(until);
        self.at = self.at.max(since);
        self.weight_ns = end.0.checked_sub(self.at.0).filter(|left| *left > 0)?;
        Some(self)
    }

    fn end(&self) -> Timestamp {
        match self.side {
            Side::OnCpu => self.at,
            Side::OffCpu | Side::Ready => Timestamp(self.at.0.saturating_add(self.weight_ns)),
        }
    }
}

/// Waits of this moment, to put others to: a server may wait 100,000 times a second.
#[derive(Default)]
struct Recent {
    indexes: HashMap<(u32, Side, Length, Place), usize>,
    from: u64,
}

impl Recent {
    /// The sample to put a wait to, if it is there already; else it is to be at `next`.
    fn index(&mut self, taken: &Taken, together_ns: u64, next: usize) -> usize {
        let end = taken.end().0;
        if end.abs_diff(self.from) >= together_ns {
            self.indexes.clear();
            self.from = end;
        }
        *self.indexes.entry((taken.thread, taken.side, taken.length, taken.place)).or_insert(next)
    }
}

/// Samples in the order in which they came.
#[derive(Default)]
pub(crate) struct Samples {
    all: Vec<Taken>,
    recent: Recent,
    recent_nowhere: Recent,
}

impl Samples {
    pub(crate) fn add(&mut self, taken: Taken) {
        let next = self.all.len();
        let index = match (taken.side, taken.place) {
            (Side::OnCpu, _) => next,
            (_, Place::NOWHERE) => self.recent_nowhere.index(&taken, NOWHERE_TOGETHER_NS, next),
            _ => self.recent.index(&taken, TOGETHER_NS, next),
        };
        match self.all.get_mut(index) {
            Some(same) => {
                same.weight_ns = same.weight_ns.saturating_add(taken.weight_ns);
                same.waits = same.waits.saturating_add(taken.waits);
            }
            None => self.all.push(taken),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Taken> {
        self.all.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Taken> {
        self.all.iter_mut()
    }

    /// Drops what had ended by then.
    pub(crate) fn forget_before(&mut self, at: Timestamp) {
        self.recent = Recent::default();
        self.recent_nowhere = Recent::default();
        self.all.retain(|taken| taken.end() >= at);
        self.all.shrink_to(2 * self.all.len());
    }
}

impl Place {
    /// The same place after stacks and tops were numbered anew.
    pub(crate) fn renumbered(
        self,
        mut stack: impl FnMut(StackKey) -> Option<StackKey>,
        mut top: impl FnMut(u32) -> Option<u32>,
    ) -> Place {
        Place::new(self.stack().and_then(&mut stack), self.top().and_then(&mut top))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(at: u64, weight_ns: u64, thread: u32) -> Taken {
        Taken::wait(thread, Side::OffCpu, Place::of(StackKey(1)), Timestamp(at), weight_ns)
    }

    #[test]
    fn a_sample_is_small() {
        assert!(size_of::<Taken>() <= 32, "{}", size_of::<Taken>());
    }

    #[test]
    fn waits_of_one_moment_are_one() {
        let mut samples = Samples::default();
        for at in 0..1000 {
            samples.add(wait(at * 1000, 500, 1));
            samples.add(wait(at * 1000, 500, 2));
        }
        let all: Vec<_> = samples.iter().map(|taken| (taken.thread, taken.weight_ns)).collect();
        assert_eq!(all, [(1, 500_000), (2, 500_000)]);
        samples.add(wait(10 * TOGETHER_NS, 7, 1));
        assert_eq!(samples.iter().count(), 3);
    }

    #[test]
    fn lengths_are_powers_of_two() {
        assert_eq!(Length::of(0), Length::of(1));
        assert_eq!(Length::of(1024), Length::of(2047));
        assert_eq!(Length::of(1024).steps_to(Length::of(5000)), 2);
        assert!(Length::of(u64::MAX) > Length::of(1 << 27));
    }

    #[test]
    fn a_wait_counts_where_it_lies() {
        let whole = wait(100, 100, 1);
        let part = |since, until| {
            whole.within(Timestamp(since), Timestamp(until)).map(|taken| (taken.at.0, taken.weight_ns))
        };
        assert_eq!(part(0, 1000), Some((100, 100)));
        assert_eq!(part(150, 1000), Some((150, 50)));
        assert_eq!(part(0, 120), Some((100, 20)));
        assert_eq!(part(200, 300), None);
        assert_eq!(part(0, 100), None);
        let sample = Taken { side: Side::OnCpu, ..whole };
        assert!(sample.within(Timestamp(100), Timestamp(101)).is_some());
        assert!(sample.within(Timestamp(101), Timestamp(300)).is_none());
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let mut samples = Samples::default();
        samples.add(wait(0, 50, 1));
        samples.add(wait(0, 500_000_000, 2));
        samples.forget_before(Timestamp(100));
        assert_eq!(samples.iter().map(|taken| taken.thread).collect::<Vec<_>>(), [2]);
    }
}
