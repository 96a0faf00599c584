//! A cause and its symptom are one finding. Which is which stands in one table, each line with its reason.
//!
//! Two illnesses in one process stay two: a symptom belongs to a cause only if something that was seen connects them, such as the
//! method to blame, who calls it, or a thread that stands still in it.

use facts::{Fact, Severity};

use crate::Verdict;
use crate::relations::{Relations, longest_is_full, longest_is_young};

/// When a symptom is that of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// If both blame the same method or type.
    SameCulprit,
    /// If they blame the same, or one names what the other blames, or calls it; or if the cause blames nobody, because then
    /// nothing distinguishes them.
    Related,
    /// If threads that stand still for ever are where the symptom is.
    StandsStill,
    /// If collections that the program asked for take more time than others.
    MostlyForced,
    /// If the others alone would not be too much.
    LittleUnforced,
    /// If young collections alone would not be too much, or full ones of the same culprit take longer.
    LittleYoung,
    /// If the pauses that are long are those of young collections.
    YoungPauses,
}

/// Of the time, in per cent, in collections: more is too much, as in the profiler `allocations`.
const MUCH: f64 = 10.0;

/// One line of the table: cause, symptom, when. The reason stands above it.
type Merge = (&'static str, &'static str, When);

#[rustfmt::skip]
const MERGES: &[Merge] = &[
    // The pool starves because its threads block on tasks: the blocking call is the culprit of both.
    ("thread-pool-starvation", "sync-over-async", When::Related),
    // The tasks that the blocked threads wait for need a thread of the pool themselves.
    ("thread-pool-starvation", "stuck-tasks", When::Related),
    // The pool adds a thread for each that blocks.
    ("thread-pool-starvation", "thread-leak", When::Related),
    ("thread-pool-starvation", "lock-contention", When::Related),
    // Who waits behind a deadlock is not in it, but its victim.
    ("deadlock", "blocked-forever", When::Related),
    ("deadlock", "lock-contention", When::StandsStill),
    ("deadlock", "thread-leak", When::StandsStill),
    ("deadlock", "thread-pool-starvation", When::StandsStill),
    ("deadlock", "stuck-tasks", When::SameCulprit),
    // The lock that is never given back is what the others wait for.
    ("blocked-forever", "lock-contention", When::StandsStill),
    ("blocked-forever", "thread-leak", When::StandsStill),
    ("blocked-forever", "thread-pool-starvation", When::StandsStill),
    // A finalizer that waits for a lock is found as a wait, too, and what it does not free piles up.
    ("blocked-finalizer", "blocked-forever", When::Related),
    ("blocked-finalizer", "deadlock", When::Related),
    ("blocked-finalizer", "lock-contention", When::Related),
    ("blocked-finalizer", "memory-leak", When::Related),
    ("regex-backtracking", "hot-method", When::Related),
    // Who holds a lock computes, or it would not be held for long.
    ("lock-contention", "hot-method", When::Related),
    // Throwing, compiling and collecting use processors.
    ("exception-storm", "hot-method", When::Related),
    ("jit-storm", "hot-method", When::Related),
    ("jit-storm", "allocation-pressure", When::Related),
    // What the program asks for counts as time of the collector, too.
    ("induced-gc", "long-gc-pauses", When::MostlyForced),
    ("induced-gc", "allocation-pressure", When::LittleUnforced),
    ("induced-gc", "hot-method", When::Related),
    // Full collections take time for what lives, young ones for what is new.
    ("long-gc-pauses", "allocation-pressure", When::LittleYoung),
    ("allocation-pressure", "long-gc-pauses", When::YoungPauses),
    ("long-gc-pauses", "hot-method", When::Related),
    ("allocation-pressure", "hot-method", When::Related),
    // A leak by a known mechanism is that leak.
    ("event-handler-leak", "memory-leak", When::Related),
    ("timer-leak", "memory-leak", When::Related),
    ("duplicate-strings", "memory-leak", When::Related),
    ("memory-leak", "long-gc-pauses", When::SameCulprit),
    // Operations that never end and become more are kept by what they wait for.
    ("memory-leak", "stuck-tasks", When::Related),
];

/// Merges symptoms into their causes.
pub(crate) fn merge(mut verdicts: Vec<Verdict>, relations: &Relations) -> Vec<Verdict> {
    for (cause, symptom, when) in MERGES {
        let mut kept: Vec<Verdict> = Vec::with_capacity(verdicts.len());
        let mut absorbed: Vec<(usize, Verdict)> = Vec::new();
        let causes: Vec<Verdict> =
            verdicts.iter().filter(|verdict| verdict.finding.id == *cause).cloned().collect();
        for verdict in verdicts {
            let by = causes.iter().position(|cause| {
                verdict.finding.id == *symptom
                    && cause.finding.severity > Severity::Info
                    && belongs(cause, &verdict, *when, relations)
            });
            match by {
                Some(number) => absorbed.push((number, verdict)),
                None => kept.push(verdict),
            }
        }
        for (number, symptom) in absorbed {
            let mut causes = kept.iter_mut().filter(|verdict| verdict.finding.id == *cause);
            let Some(cause) = causes.nth(number) else { continue };
            cause.cost = cause.cost.max(symptom.cost);
            cause.finding.severity = cause.finding.severity.max(symptom.finding.severity);
            cause.finding.facts.push(Fact::Includes { finding: symptom.finding.related() });
            cause.symptoms.push(symptom);
        }
        verdicts = kept;
    }
    verdicts
}

fn belongs(cause: &Verdict, symptom: &Verdict, when: When, relations: &Relations) -> bool {
    let blamed = |verdict: &Verdict| verdict.finding.culprit.as_ref().map(|culprit| culprit.name.clone());
    let (cause_blames, symptom_blames) = (blamed(cause), blamed(symptom));
    let same = cause_blames.is_some() && cause_blames == symptom_blames;
    match when {
        When::SameCulprit => same,
        When::Related => {
            same || cause_blames.is_none() || relations.related(&cause.finding, &symptom.finding)
        }
        When::StandsStill => same || symptom_blames.is_none_or(|name| relations.stands_still(&name)),
        When::MostlyForced => same || relations.mostly_forced(),
        When::LittleUnforced => relations.unforced_percent() < MUCH,
        When::LittleYoung => (same && longest_is_full(&cause.finding)) || relations.young_percent() < MUCH,
        When::YoungPauses => longest_is_young(&symptom.finding),
    }
}

/// Puts the worst first: by severity, then by what it costs, then by how sure it is.
pub(crate) fn rank(verdicts: &mut [Verdict]) {
    verdicts.sort_by(|one, other| {
        let by_severity = other.finding.severity.cmp(&one.finding.severity);
        let by_cost = other.cost.total_cmp(&one.cost);
        by_severity.then(by_cost).then(other.finding.confidence.cmp(&one.finding.confidence))
    });
}

#[cfg(test)]
mod tests;
