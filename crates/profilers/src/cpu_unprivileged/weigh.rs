//! Which of a thread's samples used the processor.
//!
//! ```text
//! processor time  0.0 ms        3.9 ms        3.9 ms        3.9 ms
//! readings        |-------------|-------------|-------------|------>
//! samples              s  s          s   s        s    s
//! weight              1.95 each      0 each        0 each
//! ```
//!
//! The kernel tells how much processor time a thread used between two readings; the samples in between share it. Which
//! of them ran and which waited is decided when their names are known, so intervals are kept by what was sampled in
//! them: there are few different ones.

use std::collections::{BTreeMap, HashMap, VecDeque};

use stacks::StackKey;

use crate::sampling::Mode;

/// Intervals without a sample are joined up to this length; beyond it, nobody knows what the thread did.
const LONGEST_WITHOUT_SAMPLE_NS: u64 = 50_000_000;
/// A thread that used this part of an interval, in per cent, ran in any sample of it.
const BUSY_PERCENT: u64 = 80;
/// One that used less than this part, in per cent, waited wherever it cannot be told.
const IDLE_PERCENT: u64 = 10;
/// Different intervals of one thread that are kept; more share their time at once.
const MOST_PATTERNS: usize = 20_000;
/// Readings of one thread that wait for its next sample.
const MOST_READINGS: usize = 100_000;

/// A moment on the clock that only goes forward, in nanoseconds, and the processor time of a thread until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) at_ns: u64,
    pub(super) ran_ns: u64,
}

/// Readings of one thread, in order of time.
#[derive(Debug, Default)]
pub(super) struct Readings {
    queue: VecDeque<Reading>,
}

impl Readings {
    /// Adds one. A thread at rest costs nothing: the last reading moves on.
    pub(super) fn push(&mut self, reading: Reading) {
        let rests = |other: Option<&Reading>| other.is_some_and(|other| other.ran_ns == reading.ran_ns);
        if rests(self.queue.back()) && rests(self.queue.iter().rev().nth(1)) {
            self.queue.pop_back();
        }
        if self.queue.len() < MOST_READINGS {
            self.queue.push_back(reading);
        }
    }

    fn pop_until(&mut self, at_ns: u64) -> Option<Reading> {
        if self.queue.front()?.at_ns > at_ns {
            return None;
        }
        self.queue.pop_front()
    }
}

/// A stack, and whether managed code ran or was called out of.
pub(super) type Place = (Option<StackKey>, Mode);

/// How much of an interval a thread used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Use {
    /// Nearly all.
    Busy,
    /// Some.
    Partly,
    /// Next to nothing.
    Hardly,
}

/// What was sampled in an interval.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Pattern {
    pub(super) places: BTreeMap<Place, u32>,
    pub(super) used: Use,
}

/// One thread.
#[derive(Debug, Default)]
pub(super) struct Weigher {
    since: Option<Reading>,
    places: BTreeMap<Place, u32>,
    /// Processor time by what was sampled.
    pub(super) patterns: HashMap<Pattern, u64>,
    /// Processor time without a sample near it.
    pub(super) without_sample_ns: u64,
    pub(super) samples: u64,
}

impl Weigher {
    /// A sample, after all readings before it.
    pub(super) fn sample(&mut self, readings: &mut Readings, at_ns: u64, place: Place) {
        while let Some(reading) = readings.pop_until(at_ns) {
            self.reading(reading);
        }
        self.samples += 1;
        *self.places.entry(place).or_default() += 1;
    }

    /// No sample comes any more.
    pub(super) fn finish(&mut self, readings: &mut Readings) {
        while let Some(reading) = readings.pop_until(u64::MAX) {
            self.reading(reading);
        }
    }

    fn reading(&mut self, reading: Reading) {
        let Some(since) = self.since else {
            // Samples before the first reading cannot be weighed.
            self.places.clear();
            self.since = Some(reading);
            return;
        };
        let used = reading.ran_ns.saturating_sub(since.ran_ns);
        let length = reading.at_ns.saturating_sub(since.at_ns);
        if self.places.is_empty() && used > 0 {
            if length < LONGEST_WITHOUT_SAMPLE_NS {
                return;
            }
            self.without_sample_ns += used;
        } else if used > 0 {
            let places = std::mem::take(&mut self.places);
            self.keep(Pattern { places, used: Use::of(used, length) }, used);
        }
        self.places.clear();
        self.since = Some(reading);
    }

    fn keep(&mut self, pattern: Pattern, used: u64) {
        if self.patterns.len() < MOST_PATTERNS || self.patterns.contains_key(&pattern) {
            *self.patterns.entry(pattern).or_default() += used;
            return;
        }
        let samples: u64 = pattern.places.values().map(|count| u64::from(*count)).sum();
        for (place, count) in pattern.places {
            let alone = Pattern { places: BTreeMap::from([(place, 1)]), used: pattern.used };
            *self.patterns.entry(alone).or_default() += used * u64::from(count) / samples.max(1);
        }
    }
}

impl Use {
    fn of(used: u64, length: u64) -> Use {
        if used.saturating_mul(100) >= length.saturating_mul(BUSY_PERCENT) {
            Use::Busy
        } else if used.saturating_mul(100) < length.saturating_mul(IDLE_PERCENT) {
            Use::Hardly
        } else {
            Use::Partly
        }
    }
}

/// Whether a sample ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ran {
    /// It did.
    Surely,
    /// It may have: code outside of .NET that computes or waits.
    Perhaps,
    /// It waited.
    Hardly,
}

/// What became of a thread's processor time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Weighed {
    /// By stack.
    pub(super) stacks: HashMap<StackKey, u64>,
    /// Not seen in any sample that ran.
    pub(super) unseen_ns: u64,
}

/// Gives a thread's processor time to the samples that ran. What was used in moments between samples that wait goes
/// to the thread's other samples: those are what it does when it runs.
pub(super) fn settle(thread: &Weigher, mut ran: impl FnMut(&Place) -> Ran) -> Weighed {
    let mut weighed = Weighed::default();
    let mut moments = thread.without_sample_ns;
    for (pattern, used) in &thread.patterns {
        let mut counts = |place: &Place| match (pattern.used, ran(place)) {
            (Use::Busy, _) | (_, Ran::Surely) | (Use::Partly, Ran::Perhaps) => place.0,
            _ => None,
        };
        let running: Vec<(StackKey, u64)> = pattern
            .places
            .iter()
            .filter_map(|(place, count)| Some((counts(place)?, u64::from(*count))))
            .collect();
        let samples: u64 = running.iter().map(|(_, count)| count).sum();
        if samples == 0 {
            moments += used;
        }
        for (stack, count) in running {
            *weighed.stacks.entry(stack).or_default() += used * count / samples;
        }
    }
    let seen: u64 = weighed.stacks.values().sum();
    if seen == 0 {
        weighed.unseen_ns = moments;
        return weighed;
    }
    for weight in weighed.stacks.values_mut() {
        let more = u128::from(moments) * u128::from(*weight) / u128::from(seen);
        *weight += u64::try_from(more).unwrap_or(u64::MAX);
    }
    weighed
}

#[cfg(test)]
mod tests {
    use super::*;

    const BURN: StackKey = StackKey(1);
    const WAIT: StackKey = StackKey(2);
    const MS: u64 = 1_000_000;

    fn place(stack: StackKey) -> Place {
        (Some(stack), Mode::Outside)
    }

    fn ran(place: &Place) -> Ran {
        if place.0 == Some(BURN) { Ran::Surely } else { Ran::Hardly }
    }

    /// A thread that burns for the first 40 ms and waits for the next 40, sampled every 2 ms, read every 4 ms.
    #[test]
    fn samples_without_processor_time_weigh_nothing() {
        let mut readings = Readings::default();
        for step in 0..=20 {
            readings.push(Reading { at_ns: step * 4 * MS, ran_ns: (step * 4).min(40) * MS });
        }
        let mut thread = Weigher::default();
        for step in 0..40 {
            let stack = if step < 20 { BURN } else { WAIT };
            thread.sample(&mut readings, step * 2 * MS + 1, place(stack));
        }
        thread.finish(&mut readings);
        let weighed = settle(&thread, |_| Ran::Perhaps);
        assert_eq!(weighed.stacks.get(&BURN), Some(&(40 * MS)));
        assert_eq!(weighed.stacks.get(&WAIT), None);
        assert_eq!(weighed.unseen_ns, 0);
    }

    #[test]
    fn short_moments_go_to_the_samples_that_ran() {
        let mut readings = Readings::default();
        let mut thread = Weigher::default();
        // A quarter of each interval is used; one sample in ten happens to see it.
        for step in 0..100 {
            readings.push(Reading { at_ns: step * 4 * MS, ran_ns: step * MS });
            let stack = if step % 10 == 0 { BURN } else { WAIT };
            thread.sample(&mut readings, step * 4 * MS + 1, place(stack));
        }
        thread.finish(&mut readings);
        let weighed = settle(&thread, ran);
        assert_eq!(weighed.stacks.len(), 1);
        assert!(weighed.stacks[&BURN] >= 98 * MS, "{weighed:?}");
    }

    #[test]
    fn a_thread_that_was_never_seen_running_is_said_to_be_unseen() {
        let mut readings = Readings::default();
        let mut thread = Weigher::default();
        for step in 0..10 {
            readings.push(Reading { at_ns: step * 4 * MS, ran_ns: step * MS / 10 });
            thread.sample(&mut readings, step * 4 * MS + 1, place(WAIT));
        }
        thread.finish(&mut readings);
        let weighed = settle(&thread, ran);
        assert_eq!(weighed, Weighed { stacks: HashMap::new(), unseen_ns: 9 * MS / 10 });
    }

    #[test]
    fn readings_at_rest_take_no_room() {
        let mut readings = Readings::default();
        for at_ns in 0..1000 {
            readings.push(Reading { at_ns, ran_ns: 7 });
        }
        readings.push(Reading { at_ns: 1000, ran_ns: 8 });
        let kept: Vec<u64> = readings.queue.iter().map(|reading| reading.at_ns).collect();
        assert_eq!(kept, [0, 999, 1000]);
    }
}
