//! Which threads did nothing, where they are stuck, and whether that is an illness.
//!
//! A thread that waits is no illness by itself: a consumer waits for its queue, a listener for its socket. Evidence of a leak
//! is that threads at one place become more, steadily, and none of them ends; or that many are there which started one after
//! another, over a long time, and have hardly run since. A set of workers starts at once, and works now and then.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use model::Frame;

use crate::blame;
use crate::inside::{Seen, Sight};
use crate::sampling::Doing;

/// CPU time that a thread may have used and still count as one that did nothing: the kernel's own work on its behalf.
const NOTHING_NS: u64 = 200_000;
/// New threads in one place that are growth, at least, and parts of the window in which they must have come.
const GROWTH: usize = 3;
const PARTS: usize = 4;
const PARTS_WITH_GROWTH: usize = 3;
/// Of so many new threads one may end: threads that come and go are no leak.
const BORN_PER_ENDED: usize = 4;
/// The time over which threads must have started one after another.
const LONG: Duration = Duration::from_secs(30);
/// What a thread used in its life that never did any work: to start, and to get where it waits.
const HARDLY_NS: u64 = 20_000_000;
const HARDLY_RESTS: u64 = 20;

/// How the kernel counts the starts of threads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    /// Now.
    pub(super) now: u64,
    /// How long one is.
    pub(super) tick: Duration,
}

impl Ticks {
    pub(super) fn now() -> Ticks {
        let clock = process_view::Clock::now();
        let tick = clock.duration(1).max(Duration::from_micros(1));
        let now = clock.age(0).as_micros() / tick.as_micros();
        Ticks { now: u64::try_from(now).unwrap_or(u64::MAX), tick }
    }

    pub(super) fn duration(self, ticks: u64) -> Duration {
        self.tick.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX))
    }

    /// How long ago.
    pub(super) fn age(self, started: u64) -> Duration {
        self.duration(self.now.saturating_sub(started))
    }
}

/// Two looks at all threads.
pub(super) struct Looks {
    pub(super) before: Sight,
    pub(super) after: Sight,
    /// Threads whose stack was the same both times, to the instruction.
    pub(super) same: HashSet<u32>,
    pub(super) main: u32,
    /// From one look to the other.
    pub(super) window: Duration,
    pub(super) clock: Ticks,
}

/// Threads that are stuck in one place.
#[derive(Clone, Debug)]
pub(super) struct Group<'a> {
    /// The program's own method.
    pub(super) place: String,
    /// What they wait for.
    pub(super) doing: String,
    /// The outermost method of the program's own: what they were started for.
    pub(super) began: String,
    /// Threads that did nothing from one look to the other.
    pub(super) stuck: Vec<&'a Seen>,
    /// Threads in the same place that came in between.
    pub(super) born: Vec<&'a Seen>,
    /// Threads that were there at the first look and have ended.
    pub(super) ended: usize,
    pub(super) verdict: Verdict,
}

/// What the evidence says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// They wait; whether as designed cannot be told.
    Waiting,
    /// They came one after another over a long time, and hardly ran since.
    PiledUp,
    /// They became more while we looked.
    Growing,
}

/// What threads of one group have in common: the method, what it waits for, and what they were started for. Neither the line nor the
/// framework's method: when the runtime compiles a method anew, threads before and after stand in other code of the same.
type Common = (String, String, String);

impl Looks {
    /// The groups, worst first.
    pub(super) fn groups(&self, least: usize) -> Vec<Group<'_>> {
        let first: HashMap<u32, &Seen> =
            self.before.threads.iter().map(|thread| (thread.inside, thread)).collect();
        let mut groups: BTreeMap<Common, Group<'_>> = BTreeMap::new();
        for thread in &self.after.threads {
            let Some((common, frame)) = self.place(thread) else { continue };
            let known = first.get(&thread.inside).filter(|first| first.started == thread.started);
            let is_stuck =
                known.is_some_and(|first| self.same.contains(&thread.inside) && did_nothing(first, thread));
            if known.is_some() && !is_stuck {
                continue;
            }
            let began = common.2.clone();
            let group = groups
                .entry(common)
                .or_insert_with(|| Group::at((blame::place(frame), thread.why.words(), began)));
            if is_stuck { &mut group.stuck } else { &mut group.born }.push(thread);
        }
        let there: HashSet<(u32, Option<u64>)> =
            self.after.threads.iter().map(|thread| (thread.inside, thread.started)).collect();
        for thread in &self.before.threads {
            if !there.contains(&(thread.inside, thread.started))
                && let Some(group) = self.place(thread).and_then(|(common, _)| groups.get_mut(&common))
            {
                group.ended += 1;
            }
        }
        let mut groups: Vec<Group<'_>> =
            groups.into_values().filter(|group| !group.stuck.is_empty()).collect();
        for group in &mut groups {
            group.verdict = self.verdict(group, least);
        }
        groups.sort_by(|a, b| {
            (b.verdict, b.count()).cmp(&(a.verdict, a.count())).then_with(|| a.place.cmp(&b.place))
        });
        groups
    }

    /// `None` for threads that wait as designed, whatever they wait for: those of the pool and of the framework, the main
    /// thread; and for those that run.
    fn place<'a>(&self, thread: &'a Seen) -> Option<(Common, &'a Frame)> {
        if !thread.managed
            || thread.inside == self.main
            || thread.in_pool()
            || thread.why.doing == Doing::Runs
        {
            return None;
        }
        let place = thread.own_frame()?;
        let outermost =
            thread.frames.iter().rev().find(|frame| blame::is_own(frame) && frame.name != blame::UNNAMED)?;
        let doing = thread.why.words();
        let doing = doing.split(" (").next().unwrap_or_default().to_owned();
        Some(((place.name.clone(), doing, outermost.name.clone()), place))
    }

    fn verdict(&self, group: &Group<'_>, least: usize) -> Verdict {
        if group.count() < least {
            return Verdict::Waiting;
        }
        if group.born.len() >= GROWTH
            && group.ended * BORN_PER_ENDED <= group.born.len()
            && self.parts_with(&group.born) >= PARTS_WITH_GROWTH
        {
            return Verdict::Growing;
        }
        if self.piled_up(&group.stuck) && group.ended == 0 { Verdict::PiledUp } else { Verdict::Waiting }
    }

    /// In how many parts of the window threads were born: a set of workers comes all at once.
    fn parts_with(&self, born: &[&Seen]) -> usize {
        let window = self.window.as_millis().max(1);
        let parts: HashSet<u128> = born
            .iter()
            .filter_map(|thread| {
                let ago = self.clock.age(thread.started?).as_millis();
                Some((ago * PARTS as u128 / window).min(PARTS as u128 - 1))
            })
            .collect();
        parts.len()
    }

    /// Whether threads came one after another over a long time, and hardly ran since.
    fn piled_up(&self, stuck: &[&Seen]) -> bool {
        let mut starts: Vec<u64> = stuck.iter().filter_map(|thread| thread.started).collect();
        starts.sort_unstable();
        let (Some(first), Some(last)) = (starts.first(), starts.last()) else { return false };
        let span = last - first;
        if self.clock.duration(span) < LONG {
            return false;
        }
        // No third of the time has more than two thirds of them.
        let third = span.div_ceil(3);
        let within =
            |(at, start): (usize, &u64)| starts.partition_point(|other| *other <= start + third) - at;
        let most = starts.iter().enumerate().map(within).max().unwrap_or(0);
        if most * 3 > starts.len() * 2 {
            return false;
        }
        let idle = stuck.iter().filter(|thread| hardly_ran(thread)).count();
        idle * 10 >= stuck.len() * 9
    }
}

impl<'a> Group<'a> {
    fn at((place, doing, began): (String, String, String)) -> Group<'a> {
        let (stuck, born) = (Vec::new(), Vec::new());
        Group { place, doing, began, stuck, born, ended: 0, verdict: Verdict::Waiting }
    }

    /// All threads in this place at the end.
    pub(super) fn count(&self) -> usize {
        self.stuck.len() + self.born.len()
    }
}

/// Whether a thread used no CPU and did not wake up between two looks. Where the kernel counts neither, the same stack has
/// to do.
fn did_nothing(before: &Seen, after: &Seen) -> bool {
    let ran = before.processor.zip(after.processor).map(|(a, b)| b.ran_ns.saturating_sub(a.ran_ns));
    let woke = before.rests.zip(after.rests).map(|(a, b)| b.saturating_sub(a));
    ran.is_none_or(|ran| ran <= NOTHING_NS) && woke.is_none_or(|woke| woke == 0)
}

fn hardly_ran(thread: &Seen) -> bool {
    thread.processor.is_some_and(|processor| processor.ran_ns <= HARDLY_NS)
        && thread.rests.is_some_and(|rests| rests <= HARDLY_RESTS)
}
