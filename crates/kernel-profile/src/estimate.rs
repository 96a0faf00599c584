//! The time of all waits, given to those whose stack is known.
//!
//! Every wait is timed, but not every wait has a stack: the kernel copies it of one in N, and a look meets those that last.
//! A wait with a stack counts with its length by the chance that it had to get one ([`Chances`]), as estimators of
//! unequal chances do. The true sums are known, so these are held to:
//!
//! * a wait of [`CERTAIN`] or more counts with its own length: if it has no stack, it stays without one;
//! * of shorter ones, those of a thread that have one power of two for a length share the true time of all of these;
//! * lengths of which no wait has a stack go to the nearest length that has one;
//! * a thread without any such wait keeps its time without a stack.
//!
//! Which waits have a stack depends on their length and not on the stack, so the shares are true on average; and for each
//! thread the sum is its true waiting time, whatever was sampled.

use std::collections::BTreeMap;

use crate::Side;
use crate::samples::{Length, Taken};

/// Waits at least this long (134 ms) count as they are.
const CERTAIN: Length = Length::of(1 << 27);

/// How waits come to a stack.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chances {
    /// Nanoseconds between two looks at threads that wait; 0 when there are none.
    pub(crate) looks_every: u64,
    /// Of how many switches the kernel copies one stack; 0 when of none.
    pub(crate) stack_every: u32,
}

impl Chances {
    /// A wait's nanoseconds by its chance: those that it stands for. Without looks all have the same chance, which is
    /// left out.
    fn stands_for(self, nanoseconds: u64) -> u128 {
        let (length, looks) = (u128::from(nanoseconds.max(1)), u128::from(self.looks_every));
        if length >= looks {
            return length;
        }
        let switches = u128::from(self.stack_every);
        if switches == 0 {
            return looks;
        }
        // It is missed by a look and by the copies: (1 - length / looks) * (1 - 1 / switches).
        let all = looks.saturating_mul(switches);
        let missed = (looks - length).saturating_mul(switches - 1);
        length.saturating_mul(all) / all.saturating_sub(missed).max(1)
    }
}

/// Indexes of samples.
#[derive(Default)]
struct Members {
    with_stack: Vec<usize>,
    /// Time of the others.
    rest_ns: u64,
    rest: Vec<usize>,
}

/// Gives the time of all waits to those with a stack. Returns the waiting time that was given to stacks of other waits.
pub(crate) fn settle(samples: &mut Vec<Taken>, chances: Chances) -> u64 {
    let mut threads = BTreeMap::<(u32, Side), BTreeMap<Length, Members>>::new();
    for (index, taken) in samples.iter().enumerate() {
        if taken.side == Side::OnCpu || taken.length >= CERTAIN {
            continue;
        }
        let members = threads.entry((taken.thread, taken.side)).or_default().entry(taken.length).or_default();
        if taken.place.stack().is_some() {
            members.with_stack.push(index);
        } else {
            members.rest_ns = members.rest_ns.saturating_add(taken.weight_ns);
            members.rest.push(index);
        }
    }
    let mut given = 0_u64;
    for ((_, side), lengths) in &threads {
        let mut more = BTreeMap::<Length, u64>::new();
        for (length, members) in lengths.iter().filter(|(_, members)| members.rest_ns > 0) {
            let Some(near) = nearest(lengths, *length) else { continue };
            let more = more.entry(near).or_default();
            *more = members.rest_ns.saturating_add(*more);
            if *side == Side::OffCpu {
                given = members.rest_ns.saturating_add(given);
            }
            for index in &members.rest {
                samples.get_mut(*index).into_iter().for_each(|taken| taken.weight_ns = 0);
            }
        }
        for (length, members) in lengths.iter().filter(|(_, members)| !members.with_stack.is_empty()) {
            spread(samples, &members.with_stack, more.get(length).copied().unwrap_or(0), chances);
        }
    }
    samples.retain(|taken| taken.weight_ns > 0);
    given
}

/// The length nearest to one of which a wait has a stack; of two the longer one.
fn nearest(lengths: &BTreeMap<Length, Members>, length: Length) -> Option<Length> {
    let has_stack = |(_, members): &(&Length, &Members)| !members.with_stack.is_empty();
    let longer = lengths.range(length..).find(has_stack).map(|(found, _)| *found);
    let shorter = lengths.range(..length).rev().find(has_stack).map(|(found, _)| *found);
    match (shorter, longer) {
        (Some(shorter), Some(longer)) if length.steps_to(shorter) < length.steps_to(longer) => Some(shorter),
        (shorter, longer) => longer.or(shorter),
    }
}

/// Shares time out among samples by what each stands for.
fn spread(samples: &mut [Taken], members: &[usize], more: u64, chances: Chances) {
    let counts = |taken: &Taken| {
        let waits = u64::from(taken.waits.max(1));
        chances.stands_for(taken.weight_ns / waits).saturating_mul(waits.into())
    };
    let of = |samples: &[Taken], index: &usize| samples.get(*index).copied();
    let (mut whole, mut all) = (0_u128, u128::from(more));
    for taken in members.iter().filter_map(|index| of(samples, index)) {
        whole = whole.saturating_add(counts(&taken));
        all += u128::from(taken.weight_ns);
    }
    let (mut before, mut given) = (0_u128, 0_u128);
    for index in members {
        let Some(taken) = samples.get_mut(*index) else { continue };
        before = before.saturating_add(counts(taken));
        // What has been given so far is always the whole part of what is due so far: the sum is exact.
        let due = before.saturating_mul(all) / whole.max(1);
        taken.weight_ns = u64::try_from(due.saturating_sub(given)).unwrap_or(u64::MAX);
        given = due;
    }
}

#[cfg(test)]
mod tests {
    use perf_sampler::Timestamp;
    use stacks::StackKey;

    use super::*;
    use crate::samples::Place;

    const MS: u64 = 1_000_000;
    const COPIES: Chances = Chances { looks_every: 0, stack_every: 7 };

    fn wait(thread: u32, stack: Option<u32>, length: u64) -> Taken {
        let place = stack.map_or(Place::NOWHERE, |stack| Place::of(StackKey(stack)));
        Taken::wait(thread, Side::OffCpu, place, Timestamp(0), length)
    }

    fn on(samples: &[Taken], thread: u32, stack: Option<u32>) -> u64 {
        let wanted = stack.map(StackKey);
        samples
            .iter()
            .filter(|taken| taken.thread == thread && taken.place.stack() == wanted)
            .map(|taken| taken.weight_ns)
            .sum()
    }

    #[test]
    fn sampled_waits_stand_for_those_as_long_of_their_thread() {
        let mut samples = vec![wait(1, Some(10), 10 * MS), wait(2, Some(20), MS)];
        samples.extend([
            wait(1, None, 10 * MS),
            wait(1, None, 11 * MS),
            wait(2, None, MS),
            wait(3, None, MS),
        ]);
        assert_eq!(settle(&mut samples, COPIES), 22 * MS);
        assert_eq!(on(&samples, 1, Some(10)), 31 * MS);
        assert_eq!(on(&samples, 2, Some(20)), 2 * MS);
        assert_eq!((on(&samples, 1, None), on(&samples, 3, None)), (0, MS), "thread 3 has no stack at all");
    }

    #[test]
    fn long_waits_keep_their_length() {
        let mut samples = vec![wait(1, Some(10), 900 * MS), wait(1, None, 800 * MS), wait(1, Some(11), MS)];
        assert_eq!(settle(&mut samples, COPIES), 0);
        assert_eq!(on(&samples, 1, Some(10)), 900 * MS);
        assert_eq!(on(&samples, 1, None), 800 * MS);
        assert_eq!(on(&samples, 1, Some(11)), MS);
    }

    #[test]
    fn a_length_without_a_stack_goes_to_the_nearest() {
        let mut samples = vec![wait(1, Some(10), 1000), wait(1, Some(11), 50 * MS), wait(1, None, 40 * MS)];
        samples.push(wait(1, None, 2000));
        settle(&mut samples, COPIES);
        assert_eq!(on(&samples, 1, Some(11)), 90 * MS);
        assert_eq!(on(&samples, 1, Some(10)), 3000);
    }

    #[test]
    fn one_in_n_tells_the_shares_and_the_sum_to_the_nanosecond() {
        // Two places that take turns unevenly: one wait in 7 has a stack.
        let mut samples = Vec::new();
        let (mut truth, mut all) = ([0; 2], 0);
        for number in 0..7000_u64 {
            let place = usize::from(number * 2654435761 % 10 < 3);
            let length = 100_000 + number * 7919 % 50_000;
            truth[place] += length;
            all += length;
            let stack = (number % 7 == 6).then(|| u32::try_from(place).unwrap());
            samples.push(wait(1, stack, length));
        }
        settle(&mut samples, COPIES);
        let found = [on(&samples, 1, Some(0)), on(&samples, 1, Some(1))];
        assert_eq!(found[0] + found[1], all);
        assert!(found[0].abs_diff(truth[0]) < all / 20, "{found:?} {truth:?}");
    }

    #[test]
    fn looks_meet_short_waits_by_chance_and_such_count_alike() {
        // 40 ms and 60 ms in turn, looked at every 100 ms: two of five looks meet the former.
        let mut samples: Vec<Taken> = (0..40).map(|_| wait(1, Some(1), 40 * MS)).collect();
        samples.extend((0..60).map(|_| wait(1, Some(2), 60 * MS)));
        samples.extend((0..60).map(|_| wait(1, None, 40 * MS)));
        samples.extend((0..40).map(|_| wait(1, None, 60 * MS)));
        settle(&mut samples, Chances { looks_every: 100 * MS, stack_every: 0 });
        let (short, long) = (on(&samples, 1, Some(1)), on(&samples, 1, Some(2)));
        assert_eq!(short + long, 10_000 * MS);
        assert!(short.abs_diff(4000 * MS) < 100 * MS, "{short} {long}");
    }

    #[test]
    fn a_wait_stands_for_its_length_by_its_chance() {
        let both = Chances { looks_every: 100, stack_every: 4 };
        assert_eq!(both.stands_for(100), 100, "no look misses it");
        // Half are met by a look, of the others the kernel copies a quarter: 5 in 8.
        assert_eq!(both.stands_for(50), 80);
        assert_eq!(Chances { stack_every: 1, ..both }.stands_for(50), 50, "every one is copied");
        assert_eq!(Chances { stack_every: 0, ..both }.stands_for(50), 100);
        assert_eq!(COPIES.stands_for(50), 50);
    }

    #[test]
    fn hostile_numbers_do_not_make_it_panic() {
        let mut samples = vec![wait(1, Some(1), u64::MAX), wait(1, None, u64::MAX), wait(1, Some(1), 0)];
        samples.extend([wait(1, None, 0), Taken { weight_ns: u64::MAX, ..wait(1, None, 5) }]);
        samples.push(Taken { weight_ns: u64::MAX, ..wait(1, Some(3), 5) });
        settle(&mut samples, Chances { looks_every: u64::MAX, stack_every: u32::MAX });
        settle(&mut samples, COPIES);
    }
}
