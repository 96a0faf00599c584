//! Rules: one illness each. A rule weighs what speaks for its illness and what against, and says how sure it is.
//!
//! Costs are rough: the share of the process's work that is lost, in per cent. They only put findings in an order.

mod allocation_pressure;
mod blocked_finalizer;
mod blocked_forever;
mod deadlock;
mod descriptor_leak;
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
mod thread_pool_starvation;
mod timer_leak;

use facts::{Observation, method_name};

use crate::{Case, Ground, Look, Verdict};

pub use descriptor_leak::HALF_CLOSED;
pub use slow_dependency::mean_call_seconds;
pub use thread_pool_starvation::MIN_STARVATIONS;

/// One illness.
pub struct Rule {
    /// Stable id.
    pub id: &'static str,
    /// Judges.
    pub judge: fn(&Case) -> Vec<Verdict>,
    /// The command that digs deeper.
    pub deeper: &'static str,
    /// Looks that dig deeper themselves, if they are the ones that found it.
    pub deeper_by: &'static [&'static str],
}

type Judge = fn(&Case) -> Vec<Verdict>;

const fn rule(id: &'static str, judge: Judge, deeper: &'static str) -> Rule {
    Rule { id, judge, deeper, deeper_by: &[] }
}

impl Rule {
    /// For what another look than the usual one finds.
    const fn or_by(self, looks: &'static [&'static str]) -> Rule {
        Rule { deeper_by: looks, ..self }
    }
}

/// All rules.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    rule("deadlock", deadlock::judge, "run deadlocks"),
    rule("blocked-forever", blocked_forever::judge, "run deadlocks"),
    rule("sync-over-async", sync_over_async::judge, "run thread-time"),
    rule("thread-pool-starvation", thread_pool_starvation::judge, "run thread-pool"),
    rule("stuck-tasks", stuck_tasks::judge, "run stuck-tasks"),
    rule("thread-leak", thread_leak::judge, "run zombie-threads"),
    rule("hot-method", hot_method::judge, "cpu"),
    rule("regex-backtracking", regex_backtracking::judge, "cpu"),
    rule("exception-storm", exception_storm::judge, "run exceptions"),
    rule("lock-contention", lock_contention::judge, "run contention"),
    // Memory outside of the heap is found by another look than the heap's.
    rule("memory-leak", memory_leak::judge, "run memory-leaks").or_by(&["heap-composition"]),
    rule("event-handler-leak", event_handler_leak::judge, "run memory-leaks"),
    rule("timer-leak", timer_leak::judge, "run timers"),
    rule("duplicate-strings", duplicate_strings::judge, "run duplicate-strings"),
    rule("allocation-pressure", allocation_pressure::judge, "run allocations"),
    // So are stops that are no collections.
    rule("long-gc-pauses", long_gc_pauses::judge, "run gc-pauses").or_by(&["runtime-pauses"]),
    rule("induced-gc", induced_gc::judge, "run gc-pauses"),
    rule("loh-fragmentation", loh_fragmentation::judge, "run heap-composition"),
    rule("pinning", pinning::judge, "run handles"),
    rule("blocked-finalizer", blocked_finalizer::judge, "run finalizer-queue"),
    rule("jit-storm", jit_storm::judge, "counters monitor"),
    rule("descriptor-leak", descriptor_leak::judge, "info"),
    rule("limit-reached", limit_reached::judge, "info"),
    rule("settings", settings::judge, "info"),
    rule("slow-dependency", slow_dependency::judge, "run async-hot-paths"),
    rule("left-on", left_on::judge, "info"),
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

/// The look at what the heap is made of. It may be asked not to look at objects; then it has to guess what holes are like.
const HEAP_COMPOSITION: &str = "heap-composition";

fn sees_objects(look: &Look) -> bool {
    look.id != HEAP_COMPOSITION || look.facts.saw_objects
}

/// Whether two findings blame the same one. One look distinguishes two places of a method; two looks may name two lines of one place.
fn is_same(known: &Verdict, other: &Verdict) -> bool {
    match (&known.finding.culprit, &other.finding.culprit) {
        (Some(known_culprit), Some(culprit)) if known.look() == other.look() => known_culprit == culprit,
        (Some(known), Some(other)) => method_name(&known.name) == method_name(&other.name),
        _ => false,
    }
}

impl Case {
    /// What closer looks found of an illness, at a cost, each culprit once: of two looks that blame the same one, the more severe
    /// counts. Who is to blame, one look may know where another does not.
    pub(crate) fn adopt(&self, id: &'static str, cost: f64) -> Vec<Verdict> {
        let mut found: Vec<Verdict> = Vec::new();
        for verdict in self.all(id, cost) {
            match found.iter_mut().find(|known| is_same(known, &verdict)) {
                Some(known) if known.finding.severity < verdict.finding.severity => *known = verdict,
                Some(_) => {}
                None => found.push(verdict),
            }
        }
        let blaming = found.iter().find(|verdict| verdict.finding.culprit.is_some()).map(Verdict::look);
        found.retain(|verdict| {
            verdict.finding.culprit.is_some() || blaming.is_none_or(|one| one == verdict.look())
        });
        found
    }

    /// All that closer looks found of an illness.
    pub(crate) fn all(&self, id: &'static str, cost: f64) -> impl Iterator<Item = Verdict> + '_ {
        // What one look guesses of holes, another knows.
        let ignores_guesses = self.has_seen_holes() && ["loh-fragmentation", "pinning"].contains(&id);
        let looks = self.looks.iter().enumerate();
        let looks = looks.filter(move |(_, look)| !ignores_guesses || sees_objects(look));
        looks.flat_map(move |(look, of)| {
            let found = of.found.iter().enumerate().filter(move |(_, found)| illness(&found.id) == id);
            found.map(move |(finding, found)| {
                let found = Observation { id: id.to_owned(), ..found.clone() };
                Verdict::new(found, cost, Ground::Look { look, finding })
            })
        })
    }

    /// Whether a look at the composition of the heap was taken to its end that looks at objects where there are holes.
    pub(crate) fn has_seen_holes(&self) -> bool {
        let mut looks = self.looks.iter().filter(|look| look.id == HEAP_COMPOSITION);
        looks.any(|look| !look.cut_short && sees_objects(look))
    }
}
