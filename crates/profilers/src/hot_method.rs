//! Methods that use the processor: what each takes, and whether one is to blame.
//!
//! ```text
//! processor time by stack --> rows: a method with the framework code it calls --> hot: one that does most of the work
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use model::{Confidence, Fact, Finding, Frame, Severity, Value, format_duration};
use stacks::StackKey;

use crate::blame;
use crate::ratio::{nanos, percent};
use crate::sampling::{Calls, MethodId};

/// A process that uses this much of one processor, in per cent, may be short of it; so may a thread that hardly rests.
const BUSY: f64 = 80.0;
/// A process that gets less of one processor than this, in per cent, is not said to want more.
const LEAST_GOT: f64 = 3.0;
/// A thread that ran for less than this part of the window, in per cent, proves nothing by not resting.
const LEAST_RUN: f64 = 5.0;
/// Shorter windows prove nothing.
const SHORTEST_PROOF: Duration = Duration::from_millis(900);
/// A hot method does at least this part of its work itself, or in the framework, in per cent.
const OWN_WORK: f64 = 10.0;
/// And this part together with one other method: one that hands its work to many others is not to blame.
const CONCENTRATED: f64 = 70.0;
/// Totals that differ by no more than this part, in per cent, are those of one call; one that does no more than this itself is a
/// mere caller.
const ALIKE: f64 = 10.0;

/// Processor time of a process in a window.
pub(crate) struct CpuTime<'a> {
    pub(crate) calls: &'a Calls,
    /// By stack.
    pub(crate) stacks: &'a HashMap<StackKey, u64>,
    /// All of it, also what was not seen in a stack.
    pub(crate) all: u64,
    pub(crate) window: Duration,
}

/// A method of the program's own with the framework code it calls, or else one of the framework.
pub(crate) struct Row {
    pub(crate) method: MethodId,
    /// In it, and in framework code that it calls.
    pub(crate) itself: u64,
    /// In it alone.
    pub(crate) alone: u64,
    /// In it and in everything that it calls.
    pub(crate) total: u64,
}

/// How a thread was scheduled in a window.
#[derive(Clone, Copy)]
pub(crate) struct Turns {
    pub(crate) window_ns: u64,
    pub(crate) ran_ns: u64,
    /// Ready, but others had the processors.
    pub(crate) ready_ns: u64,
    /// Stopped by us.
    pub(crate) stopped_ns: u64,
    /// How often it gave up a processor to wait, when that is known.
    pub(crate) rests: Option<u64>,
}

impl Turns {
    /// Whether a thread ran nearly all the time in which it was neither without a processor nor stopped by us. So a
    /// busy thread is told on a machine that is short of processors, too, from one that rests between its turns.
    ///
    /// One that waited for longer than it ran may only be behind with little work, and proves nothing by that.
    fn never_rests(self) -> bool {
        let free = self.window_ns.saturating_sub(self.ready_ns).saturating_sub(self.stopped_ns);
        let fills_its_time =
            percent(self.ran_ns, free.max(self.ran_ns)) >= BUSY && self.ready_ns <= self.ran_ns;
        percent(self.ran_ns, self.window_ns) >= LEAST_RUN && (fills_its_time || self.rests == Some(0))
    }
}

/// What shows that a process has too much to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// It uses a processor, or one of its threads never rests.
    Busy,
    /// Its threads together wanted a processor for most of the time, and others had it. On such a machine a program that is only
    /// behind with its little work looks the same.
    Crowded,
}

/// A time in a sentence.
pub(crate) fn time(nanoseconds: u64) -> String {
    format_duration(Duration::from_nanos(nanoseconds))
}

impl CpuTime<'_> {
    /// What each method took, the ones that do most themselves first.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let calls = self.calls;
        let mut itself: HashMap<MethodId, u64> = HashMap::new();
        for (stack, ns) in self.stacks {
            if let Some((method, _)) = calls.named_frame(*stack) {
                *itself.entry(method).or_default() += ns;
            }
        }
        let is_listed = |method: MethodId| {
            itself.contains_key(&method) || calls.method(method).is_some_and(|method| method.own)
        };
        let mut rows: Vec<Row> = calls
            .spent(self.stacks)
            .into_iter()
            .filter(|(method, _)| is_listed(*method))
            .map(|(method, spent)| Row {
                method,
                itself: itself.get(&method).copied().unwrap_or(0),
                alone: spent.itself,
                total: spent.total,
            })
            .collect();
        rows.sort_by(|a, b| {
            let name = |row: &Row| calls.method_name(row.method).to_owned();
            (b.itself, b.total, name(a)).cmp(&(a.itself, a.total, name(b)))
        });
        rows
    }

    /// The innermost method of the program's own that takes this share, in per cent, if it does the work itself.
    pub(crate) fn hot<'a>(&self, rows: &'a [Row], least: u64) -> Option<&'a Row> {
        #[expect(clippy::cast_precision_loss, reason = "a per cent between 1 and 100")]
        let least = least as f64;
        let large: Vec<&Row> = rows
            .iter()
            .filter(|row| self.calls.method(row.method).is_some_and(|method| method.own))
            .filter(|row| percent(row.total, self.all) >= least)
            .collect();
        let inner = self.without_mere_callers(large);
        let innermost = inner.iter().map(|row| row.total).min()?;
        inner
            .into_iter()
            .filter(|row| percent(row.total - innermost, innermost) <= ALIKE)
            .max_by_key(|row| (row.itself, Reverse(row.total)))
            .filter(|row| percent(row.itself, row.total) >= OWN_WORK)
            .filter(|row| percent(row.itself + self.heaviest_helper(row.method), row.total) >= CONCENTRATED)
    }

    /// Leaves out methods that nearly all the time wait for another of these. Their totals do not tell: many stacks may lack a
    /// caller, so that it seems to take less than what it calls.
    fn without_mere_callers<'a>(&self, rows: Vec<&'a Row>) -> Vec<&'a Row> {
        let among: HashSet<MethodId> = rows.iter().map(|row| row.method).collect();
        let mut waits: HashMap<MethodId, u64> = HashMap::new();
        for (stack, ns) in self.stacks {
            let mut inner =
                self.calls.frames(*stack).map(|(method, _)| method).filter(|id| among.contains(id));
            let Some(innermost) = inner.next() else { continue };
            let callers: HashSet<MethodId> = inner.filter(|method| *method != innermost).collect();
            callers.into_iter().for_each(|caller| *waits.entry(caller).or_default() += ns);
        }
        let is_mere_caller =
            |row: &Row| percent(waits.get(&row.method).copied().unwrap_or(0), row.total) >= 100.0 - ALIKE;
        // Of methods that call each other in turns, none is left.
        let left: Vec<&Row> = rows.iter().copied().filter(|row| !is_mere_caller(row)).collect();
        if left.is_empty() { rows } else { left }
    }

    /// What the heaviest of the methods took that work for a method.
    fn heaviest_helper(&self, hot: MethodId) -> u64 {
        let mut helpers: HashMap<MethodId, u64> = HashMap::new();
        for (stack, ns) in self.stacks {
            if self.calls.frames(*stack).any(|(method, _)| method == hot)
                && let Some((own, _)) = self.calls.own_frame(*stack)
                && own != hot
            {
                *helpers.entry(own).or_default() += ns;
            }
        }
        helpers.into_values().max().unwrap_or(0)
    }

    /// The finding about a hot method, if the process or one of its threads is busy.
    pub(crate) fn finding(&self, hot: &Row, threads: impl IntoIterator<Item = Turns>) -> Option<Finding> {
        let window = nanos(self.window);
        let proof = self.proof(threads).filter(|_| self.window >= SHORTEST_PROOF)?;
        let name = self.calls.method_name(hot.method);
        let share = percent(hot.total, self.all);
        let heaviest = self.heaviest(hot.method)?;
        let (severity, confidence) = match proof {
            Proof::Busy => (Severity::Warning, Confidence::High),
            Proof::Crowded => (Severity::Info, Confidence::Low),
        };
        let title = format!("{name} uses {share:.0} % of the CPU time");
        let mut finding = Finding::new("hot-method", severity, confidence, title)
            .culprit(blame::method(heaviest.own))
            .fact(Fact::measured([
                ("cpu", Value::Nanoseconds(hot.total)),
                ("cpu-of-process", Value::Nanoseconds(self.all)),
                ("window", Value::Nanoseconds(window)),
            ]))
            .evidence("CPU used by it", format!("{} of {}", time(hot.total), time(self.all)))
            .evidence("The process", format!("{:.0} % of one processor", percent(self.all, window)));
        if let Some((method, percent)) = heaviest.calls {
            let fact = Fact::MostlyCalls { method: method.clone(), percent };
            finding = finding.fact(fact).evidence("It is mostly in", method);
        }
        if proof == Proof::Crowded {
            finding = finding
                .evidence("Against it", "the machine is crowded, so it may only be behind with its work");
        }
        Some(
            finding
                .advice("Make it cheaper, or call it less often; its callers are in the call tree.")
                .advice("Fine if computing is what the process is for."),
        )
    }

    /// Whether the process is busy, or would be.
    fn proof(&self, threads: impl IntoIterator<Item = Turns>) -> Option<Proof> {
        let window = nanos(self.window);
        let used = percent(self.all, window);
        let (mut never_rests, mut wanted, mut ready) = (false, 0, 0);
        for thread in threads {
            never_rests |= thread.never_rests();
            wanted += thread.ran_ns + thread.ready_ns;
            ready += thread.ready_ns;
        }
        if used >= BUSY || never_rests {
            return Some(Proof::Busy);
        }
        let is_crowded = ready > self.all && percent(wanted, window) >= BUSY;
        (is_crowded && used >= LEAST_GOT).then_some(Proof::Crowded)
    }

    /// The frame of a method where most of its time is spent.
    pub(crate) fn heaviest(&self, hot: MethodId) -> Option<Heaviest<'_>> {
        let mut by_line: HashMap<Option<u32>, (u64, &Frame)> = HashMap::new();
        let mut by_callee: BTreeMap<&str, u64> = BTreeMap::new();
        let mut whole = 0;
        for (stack, ns) in self.stacks {
            let mut callee = None;
            for (method, frame) in self.calls.frames(*stack) {
                if method == hot {
                    by_line.entry(frame.line).or_insert((0, frame)).0 += ns;
                    whole += ns;
                    if let Some(callee) = callee {
                        *by_callee.entry(callee).or_default() += ns;
                    }
                    break;
                }
                callee = Some(self.calls.method_name(method));
            }
        }
        let (_, own) = by_line.into_values().max_by_key(|(ns, frame)| (*ns, frame.line))?;
        let callee = by_callee.into_iter().max_by_key(|(_, ns)| *ns);
        let calls = callee.map(|(name, ns)| (name.to_owned(), percent(ns, whole)));
        let calls = calls.filter(|(_, percent)| *percent > 50.0);
        Some(Heaviest { own, calls })
    }

    /// The answer in one sentence. `most` is the method to name.
    pub(crate) fn summary(&self, most: Option<&Row>) -> String {
        let used = format!(
            "The process used {} of CPU in {} ({:.0} % of one processor)",
            time(self.all),
            format_duration(self.window),
            percent(self.all, nanos(self.window))
        );
        if self.calls.is_nameless() {
            return format!("{used}; the names of its methods did not come.");
        }
        match most {
            Some(row) if self.all > 0 => format!(
                "Most CPU: {} ({:.0} %). {used}.",
                self.calls.method_name(row.method),
                percent(row.total, self.all)
            ),
            _ => format!("{used}; none of it was seen in .NET code."),
        }
    }
}

/// The frame of a method where most of its time is spent.
pub(crate) struct Heaviest<'a> {
    pub(crate) own: &'a Frame,
    /// The framework method that it mostly calls there, and its share in per cent.
    calls: Option<(String, f64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(ran: u64, ready: u64) -> Turns {
        Turns { window_ns: 100, ran_ns: ran, ready_ns: ready, stopped_ns: 5, rests: None }
    }

    #[test]
    fn a_thread_that_mostly_waited_for_a_processor_proves_nothing() {
        assert!(turns(90, 0).never_rests());
        assert!(turns(50, 40).never_rests(), "it shared a processor with one other");
        assert!(!turns(50, 20).never_rests(), "it rested");
        assert!(!turns(24, 68).never_rests(), "a healthy one that is behind looks the same");
        assert!(
            Turns { rests: Some(0), ..turns(24, 68) }.never_rests(),
            "it never gave up a processor by itself"
        );
    }
}
