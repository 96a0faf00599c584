//! Pool threads that block until a task ends, where they should await it.

use std::collections::HashMap;

use model::{Confidence, Fact, Finding, Frame, Severity, Value};
use stacks::StackKey;

use super::{Calls, Doing, Doings};
use crate::blame;
use crate::ratio::{percent, share_words};

/// From this part of the pool's working time on, blocking on tasks is worth a finding, in per cent.
const WORTH_A_WORD: f64 = 10.0;
/// And from this many pool threads on that were blocked on average.
const THREADS_WORTH_A_WORD: f64 = 0.25;

/// What pool threads did at work.
#[derive(Default)]
pub(crate) struct BlockedPool<'a> {
    /// All their work, in any unit.
    at_work: u64,
    /// Blocked on tasks.
    on_tasks: u64,
    /// By the method of the program that blocks.
    by_method: HashMap<&'a str, (u64, &'a Frame)>,
}

impl<'a> BlockedPool<'a> {
    /// Work of which no stack is known.
    pub(crate) fn add_running(&mut self, weight: u64) {
        self.at_work += weight;
    }

    /// Counts a stack; those of other threads do not matter.
    pub(crate) fn add(
        &mut self,
        calls: &'a Calls,
        doings: &mut Doings<'_>,
        stack: StackKey,
        doing: Doing,
        weight: u64,
    ) {
        if !doings.in_pool(stack) {
            return;
        }
        self.at_work += weight;
        if doing == Doing::WaitsForTask {
            self.on_tasks += weight;
            if let Some((_, frame)) = calls.own_frame(stack) {
                self.by_method.entry(&frame.name).or_insert((0, frame)).0 += weight;
            }
        }
    }
}

/// The finding, if the pool's threads block on tasks. `window` is the weight of one thread over the whole time.
pub(crate) fn sync_over_async(pool: &BlockedPool<'_>, window: u64) -> Option<Finding> {
    let share = percent(pool.on_tasks, pool.at_work);
    let threads = percent(pool.on_tasks, window) / 100.0;
    if share < WORTH_A_WORD || threads < THREADS_WORTH_A_WORD {
        return None;
    }
    let (name, (weight, frame)) =
        pool.by_method.iter().max_by_key(|(name, (weight, _))| (*weight, std::cmp::Reverse(**name)))?;
    Some(
        Finding::new(
            "sync-over-async",
            Severity::Warning,
            Confidence::High,
            format!("Pool threads block until tasks end: {} in {name}", share_words(*weight, pool.on_tasks)),
        )
        .culprit(blame::method(frame))
        .fact(Fact::measured([
            ("blocked-threads", Value::Mean(threads)),
            ("share-of-pool", Value::Percent(share)),
        ]))
        .evidence("Blocked on tasks", format!("{threads:.1} pool threads on average"))
        .evidence("Share of the pool's work", format!("{share:.0} %"))
        .advice("Await the task instead of Wait(), Result or GetAwaiter().GetResult(), up to the caller.")
        .advice("A pool thread that blocks does no other work; enough of them stop the program."),
    )
}
