//! Waits get their stacks, and stacks get the time of all waits.
//!
//! Every wait is timed, but only some have a stack: of one in N the kernel copied it, others were looked at while they
//! lasted. Waits without one are kept as sums by thread and length, not one by one: a busy server has 100,000 a second.
//! At the end the waits with a stack stand for all waits of their thread that were about as long:
//!
//! * a wait of [`CERTAIN`] or more is counted with its own length, never more;
//! * of shorter ones, those of one power of two share the true time of all waits of that length;
//! * lengths of which no wait has a stack go to the nearest length that has one;
//! * what is left, because a thread has no such wait at all, stays without a stack.
//!
//! So for each thread the sum is its true waiting time, whatever was sampled.

use std::collections::{BTreeMap, HashMap};

use perf_sampler::{Leaving, SwitchId, Timestamp, Wait};

use crate::intake::{Side, Taken, Walked};
use crate::quality::WaitQuality;

/// Threads whose wait has a stack and has not ended: more than a kernel usually has threads.
const MOST_OPEN: usize = 1 << 18;

/// Waits at least this long, in nanoseconds, are counted as they are.
const CERTAIN: u64 = 1 << 27;

/// A thread that was looked at while it waited.
pub(crate) struct SeenWaiting {
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    pub(crate) walked: Walked,
}

/// Waits of one thread that are about as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Group {
    thread: u32,
    side: Side,
    length: Length,
}

/// The power of two below a wait's nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Length(u32);

impl Length {
    fn of(nanoseconds: u64) -> Length {
        Length(nanoseconds.max(1).ilog2())
    }

    fn is_certain(self) -> bool {
        self >= Length::of(CERTAIN)
    }
}

#[derive(Clone, Copy, Debug)]
struct Sum {
    all_ns: u64,
    first: Timestamp,
}

/// Waits of one process.
#[derive(Default)]
pub(crate) struct Waiting {
    /// By thread: a thread waits for one thing at a time.
    open: HashMap<u32, (SwitchId, Walked)>,
    looks: HashMap<u32, SeenWaiting>,
    sums: BTreeMap<Group, Sum>,
    without_stack: u64,
}

impl Waiting {
    /// A thread leaves its CPU with this stack.
    pub(crate) fn leaves(&mut self, thread: u32, id: SwitchId, walked: Walked) {
        if self.open.len() < MOST_OPEN || self.open.contains_key(&thread) {
            self.open.insert(thread, (id, walked));
        }
    }

    /// A thread was looked at.
    pub(crate) fn looked(&mut self, thread: u32, seen: SeenWaiting) {
        if self.looks.len() < MOST_OPEN || self.looks.contains_key(&thread) {
            self.looks.insert(thread, seen);
        }
    }

    /// A thread ended.
    pub(crate) fn ended(&mut self, thread: u32) {
        self.open.remove(&thread);
        self.looks.remove(&thread);
    }

    /// A wait ended. It is a sample if it has a stack, else it is added up.
    pub(crate) fn ends(&mut self, wait: &Wait) -> Option<Taken> {
        let thread = wait.thread.id.0;
        let side = if wait.leaving == Leaving::Preempted { Side::Ready } else { Side::OffCpu };
        let weight_ns = u64::try_from(wait.duration().as_nanos()).unwrap_or(u64::MAX);
        let group = Group { thread, side, length: Length::of(weight_ns) };
        let sum = self.sums.entry(group).or_insert(Sum { all_ns: 0, first: wait.from });
        sum.all_ns = sum.all_ns.saturating_add(weight_ns);
        let Some(walked) = self.stack_of(thread, wait) else {
            self.without_stack += 1;
            return None;
        };
        Some(Taken { at: wait.from, weight_ns, thread, side, walked })
    }

    fn stack_of(&mut self, thread: u32, wait: &Wait) -> Option<Walked> {
        let look = self.looks.get(&thread).filter(|look| wait.from <= look.from && look.to <= wait.to);
        let looked = look.map(|look| look.walked);
        if looked.is_some() {
            self.looks.remove(&thread);
        }
        let left = wait.switch.and_then(|id| {
            let (of, walked) = self.open.remove(&thread)?;
            (of == id).then_some(walked)
        });
        // That of the kernel is as good, unless the copy was too short.
        match (left, looked) {
            (Some(left), Some(looked)) if looked.complete && !left.complete => Some(looked),
            (left, looked) => left.or(looked),
        }
    }

    /// Gives the time of all waits to those with a stack. `looks_every`: nanoseconds between two looks, when nothing else
    /// tells of stacks, else 0.
    pub(crate) fn settle(&mut self, samples: &mut Vec<Taken>, looks_every: u64) -> WaitQuality {
        let mut quality = WaitQuality { without_stack: self.without_stack, ..WaitQuality::default() };
        let mut stacked = BTreeMap::<Group, Vec<usize>>::new();
        for (index, taken) in samples.iter().enumerate().filter(|(_, taken)| taken.side != Side::OnCpu) {
            let group = Group { thread: taken.thread, side: taken.side, length: Length::of(taken.weight_ns) };
            stacked.entry(group).or_default().push(index);
            if taken.side == Side::OffCpu {
                quality.with_own_stack_ns += taken.weight_ns;
            }
        }
        let shared = self.share(&stacked, samples);
        for (group, time) in shared {
            match stacked.get(&group) {
                Some(members) => spread(samples, members, time.all_ns, looks_every),
                None => samples.push(Taken {
                    at: time.first,
                    weight_ns: time.all_ns,
                    thread: group.thread,
                    side: group.side,
                    walked: Walked::NONE,
                }),
            }
        }
        for taken in samples.iter().filter(|taken| taken.side == Side::OffCpu) {
            quality.waited_ns += taken.weight_ns;
            match taken.walked.stack {
                Some(_) if taken.walked.complete => quality.complete_ns += taken.weight_ns,
                Some(_) => {}
                None => quality.without_stack_ns += taken.weight_ns,
            }
        }
        quality
    }

    /// The time that each group with stacks stands for, and the rest, in groups without.
    fn share(&mut self, stacked: &BTreeMap<Group, Vec<usize>>, samples: &[Taken]) -> BTreeMap<Group, Sum> {
        let mut shared = BTreeMap::<Group, Sum>::new();
        for (group, sum) in std::mem::take(&mut self.sums) {
            let own: u64 = members(stacked, group)
                .filter_map(|index| samples.get(index))
                .fold(0, |own, taken| own.saturating_add(taken.weight_ns));
            if group.length.is_certain() {
                add(&mut shared, group, Sum { all_ns: own, ..sum });
                // One group without a stack takes the rest of a thread.
                let rest = Group { length: Length(u32::MAX), ..group };
                add(&mut shared, rest, Sum { all_ns: sum.all_ns.saturating_sub(own), ..sum });
                continue;
            }
            add(&mut shared, nearest(stacked, group), sum);
        }
        shared.retain(|_, sum| sum.all_ns > 0);
        shared
    }
}

fn members(stacked: &BTreeMap<Group, Vec<usize>>, group: Group) -> impl Iterator<Item = usize> + '_ {
    stacked.get(&group).into_iter().flatten().copied()
}

fn add(shared: &mut BTreeMap<Group, Sum>, group: Group, sum: Sum) {
    let entry = shared.entry(group).or_insert(Sum { all_ns: 0, first: sum.first });
    entry.all_ns = entry.all_ns.saturating_add(sum.all_ns);
    entry.first = entry.first.min(sum.first);
}

/// The group with stacks that is nearest in length, of two the longer one; that of the rest if there is none.
fn nearest(stacked: &BTreeMap<Group, Vec<usize>>, group: Group) -> Group {
    let at = |length| Group { length, ..group };
    let longer = stacked.range(group..at(Length::of(CERTAIN))).next().map(|(found, _)| *found);
    let shorter = stacked.range(at(Length(0))..group).next_back().map(|(found, _)| *found);
    match (shorter, longer) {
        (Some(shorter), Some(longer)) => {
            let (down, up) = (group.length.0 - shorter.length.0, longer.length.0 - group.length.0);
            if down < up { shorter } else { longer }
        }
        (one, other) => one.or(other).unwrap_or_else(|| at(Length(u32::MAX))),
    }
}

/// Shares a time out among samples, by their own length. Where nothing but looks tells of stacks, a wait that is shorter
/// than the time between two was met by chance, the likelier the longer it was: such count alike.
fn spread(samples: &mut [Taken], members: &[usize], all_ns: u64, looks_every: u64) {
    let own = |samples: &[Taken], index: usize| {
        samples.get(index).map_or(0, |taken| taken.weight_ns.max(looks_every).max(1))
    };
    let whole: u128 = members.iter().map(|index| u128::from(own(samples, *index))).sum();
    let (mut before, mut given) = (0_u128, 0_u128);
    for index in members {
        before += u128::from(own(samples, *index));
        // What has been given so far is always the whole part of what is due so far: the sum is exact.
        let due = before * u128::from(all_ns) / whole.max(1);
        if let Some(taken) = samples.get_mut(*index) {
            taken.weight_ns = u64::try_from(due - given).unwrap_or(u64::MAX);
        }
        given = due;
    }
}

#[cfg(test)]
mod tests;
