//! Rules: one illness each. A rule weighs what speaks for its illness and what against, and says how sure it is.
//!
//! Costs are rough: the share of the process's work that is lost, in per cent. They only put findings in an order.

mod allocation_pressure;
mod blocked_finalizer;
mod blocked_forever;
mod deadlock;
pub(crate) mod descriptor_leak;
mod duplicate_strings;
mod event_handler_leak;
mod exception_storm;
pub(crate) mod hot_method;
mod induced_gc;
mod jit_storm;
mod left_on;
mod limit_reached;
mod lock_contention;
mod loh_fragmentation;
mod long_gc_pauses;
mod memory_leak;
#[cfg(test)]
mod pages;
mod pinning;
mod regex_backtracking;
mod settings;
mod slow_dependency;
mod stuck_tasks;
mod sync_over_async;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_with_looks;
mod thread_leak;
pub(crate) mod thread_pool_starvation;
mod timer_leak;

use discovery::DotnetProcess;
use model::{Finding, Redaction};

use crate::kin::bare;
use crate::signs::Signs;
use crate::steps::{Looks, Taken};

/// What a rule judges by.
pub struct Case<'a> {
    /// The vital signs.
    pub signs: &'a Signs,
    /// The closer looks.
    pub looks: &'a Looks,
    /// The process.
    pub process: &'a DotnetProcess,
    /// Whether texts of the program's data are hidden.
    pub redaction: Redaction,
}

/// What a rule says.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The finding.
    pub finding: Finding,
    /// What it costs: the share of the process's work that is lost, in per cent, roughly.
    pub cost: f64,
}

/// One illness.
pub struct Rule {
    /// Stable id.
    pub id: &'static str,
    /// Judges.
    pub judge: fn(&Case<'_>) -> Vec<Verdict>,
    /// The profiler that digs deeper.
    pub deeper: &'static str,
}

/// All rules.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: "deadlock", judge: deadlock::judge, deeper: "run deadlocks" },
    Rule { id: "blocked-forever", judge: blocked_forever::judge, deeper: "run deadlocks" },
    Rule { id: "sync-over-async", judge: sync_over_async::judge, deeper: "run thread-time" },
    Rule { id: "thread-pool-starvation", judge: thread_pool_starvation::judge, deeper: "run thread-pool" },
    Rule { id: "stuck-tasks", judge: stuck_tasks::judge, deeper: "run stuck-tasks" },
    Rule { id: "thread-leak", judge: thread_leak::judge, deeper: "run zombie-threads" },
    Rule { id: "hot-method", judge: hot_method::judge, deeper: "cpu" },
    Rule { id: "regex-backtracking", judge: regex_backtracking::judge, deeper: "cpu" },
    Rule { id: "exception-storm", judge: exception_storm::judge, deeper: "run exceptions" },
    Rule { id: "lock-contention", judge: lock_contention::judge, deeper: "run contention" },
    Rule { id: "memory-leak", judge: memory_leak::judge, deeper: "run memory-leaks" },
    Rule { id: "event-handler-leak", judge: event_handler_leak::judge, deeper: "run memory-leaks" },
    Rule { id: "timer-leak", judge: timer_leak::judge, deeper: "run timers" },
    Rule { id: "duplicate-strings", judge: duplicate_strings::judge, deeper: "run duplicate-strings" },
    Rule { id: "allocation-pressure", judge: allocation_pressure::judge, deeper: "run allocations" },
    Rule { id: "long-gc-pauses", judge: long_gc_pauses::judge, deeper: "run gc-pauses" },
    Rule { id: "induced-gc", judge: induced_gc::judge, deeper: "run gc-pauses" },
    Rule { id: "loh-fragmentation", judge: loh_fragmentation::judge, deeper: "run heap-composition" },
    Rule { id: "pinning", judge: pinning::judge, deeper: "run handles" },
    Rule { id: "blocked-finalizer", judge: blocked_finalizer::judge, deeper: "run finalizer-queue" },
    Rule { id: "jit-storm", judge: jit_storm::judge, deeper: "counters monitor" },
    Rule { id: "descriptor-leak", judge: descriptor_leak::judge, deeper: "info" },
    Rule { id: "limit-reached", judge: limit_reached::judge, deeper: "info" },
    Rule { id: "settings", judge: settings::judge, deeper: "info" },
    Rule { id: "slow-dependency", judge: slow_dependency::judge, deeper: "run async-hot-paths" },
    Rule { id: "left-on", judge: left_on::judge, deeper: "info" },
];

/// What profilers call an illness that has another name here. Theirs is narrower, but for `long-runtime-pauses`, which are of
/// collections most of the time.
pub static NAMES: &[(&str, &str)] = &[
    ("orphaned-lock", "blocked-forever"),
    ("lock-held-in-wait", "blocked-forever"),
    ("process-stopped", "blocked-forever"),
    ("await-circle", "stuck-tasks"),
    ("async-hot-path", "hot-method"),
    ("long-runtime-pauses", "long-gc-pauses"),
    ("stopped-by-tools", "left-on"),
    ("finalizer-behind", "blocked-finalizer"),
    ("async-leak", "memory-leak"),
    ("weak-table-leak", "memory-leak"),
    ("thread-static-leak", "memory-leak"),
    ("handle-leak", "memory-leak"),
    ("closure-leak", "memory-leak"),
    ("cache-growth", "memory-leak"),
    ("native-memory", "memory-leak"),
    ("heap-fragmentation", "loh-fragmentation"),
];

/// The illness that a profiler's finding is about.
#[must_use]
pub fn illness(id: &str) -> &str {
    NAMES.iter().find(|(narrow, _)| *narrow == id).map_or(id, |(_, illness)| illness)
}

/// The look at what the heap is made of. It may be told not to look at objects; then it has to guess what holes are like.
const HEAP_COMPOSITION: &str = "heap-composition";

fn sees_objects(taken: &Taken) -> bool {
    taken.id != HEAP_COMPOSITION
        || taken.report.profiler.parameters.get("graph").is_none_or(|graph| graph != "no")
}

/// Whether two findings blame the same one. One look tells two places of a method apart; two looks may name two lines of one place.
fn is_same(known: &Finding, other: &Finding, in_one_look: bool) -> bool {
    match (&known.culprit, &other.culprit) {
        (Some(known), Some(other)) if in_one_look => known == other,
        (Some(known), Some(other)) => bare(&known.name) == bare(&other.name),
        _ => false,
    }
}

impl Case<'_> {
    /// What closer looks found of an illness, each culprit once: of two looks that blame the same one, the more severe counts.
    /// Who is to blame, one look may know where another does not.
    pub(crate) fn found(&self, id: &'static str) -> Vec<Finding> {
        let mut found: Vec<(usize, Finding)> = Vec::new();
        for (look, finding) in self.all_found(id) {
            match found.iter_mut().find(|(of, known)| is_same(known, &finding, *of == look)) {
                Some(known) if known.1.severity < finding.severity => *known = (look, finding),
                Some(_) => {}
                None => found.push((look, finding)),
            }
        }
        let blaming = found.iter().find(|(_, finding)| finding.culprit.is_some()).map(|(look, _)| *look);
        found.retain(|(look, finding)| finding.culprit.is_some() || blaming.is_none_or(|one| one == *look));
        found.into_iter().map(|(_, finding)| finding).collect()
    }

    /// All that closer looks found of an illness, each with the number of its look.
    fn all_found(&self, id: &'static str) -> impl Iterator<Item = (usize, Finding)> {
        // What one look guesses of holes, another knows.
        let ignores_guesses = self.has_seen_holes() && ["loh-fragmentation", "pinning"].contains(&id);
        let looks = self.looks.taken.iter().enumerate();
        let looks = looks.filter(move |(_, taken)| !ignores_guesses || sees_objects(taken));
        let all = looks.flat_map(|(look, taken)| taken.report.findings.iter().map(move |one| (look, one)));
        all.filter(move |(_, finding)| illness(&finding.id) == id)
            .map(move |(look, finding)| (look, Finding { id: id.to_owned(), ..finding.clone() }))
    }

    /// Whether a look at the composition of the heap was taken to its end that looks at objects where there are holes.
    pub(crate) fn has_seen_holes(&self) -> bool {
        let mut looks = self.looks.taken.iter().filter(|taken| taken.id == HEAP_COMPOSITION);
        looks.any(|taken| !taken.cut_short && sees_objects(taken))
    }

    /// What closer looks found, at a cost.
    pub(crate) fn adopt(&self, id: &'static str, cost: f64) -> Vec<Verdict> {
        self.found(id).into_iter().map(|finding| Verdict { finding, cost }).collect()
    }

    /// Whether a closer look was taken to its end: then what it did not find is not there.
    pub(crate) fn has_look(&self, id: &str) -> bool {
        self.looks.is_complete(id)
    }

    /// The part of the process's processor time, in per cent of what it could use.
    pub(crate) fn cpu_share(&self) -> f64 {
        let used = self.signs.system.as_ref().map_or(0.0, crate::signs::System::cpu_percent);
        let processors = self.signs.processors();
        if processors.is_finite() && processors > 0.0 {
            (used / processors).min(100.0)
        } else {
            used.min(100.0)
        }
    }
}
