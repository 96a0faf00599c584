//! A cause and its symptom are one finding. Which is which stands in one table, each line with its reason.

use model::Evidence;

use crate::rules::Verdict;

/// When a symptom is that of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// Whenever both are there.
    Always,
    /// If both blame the same method or type.
    SameCulprit,
}

/// One line of the table: cause, symptom, when. The reason stands above it.
type Merge = (&'static str, &'static str, When);

#[rustfmt::skip]
const MERGES: &[Merge] = &[
    // The pool starves because its threads block on tasks: the blocking call is the culprit of both.
    ("thread-pool-starvation", "sync-over-async", When::Always),
    // The tasks that the blocked threads wait for need a thread of the pool themselves.
    ("thread-pool-starvation", "stuck-tasks", When::Always),
    // The pool adds a thread for each that blocks.
    ("thread-pool-starvation", "thread-leak", When::Always),
    ("thread-pool-starvation", "lock-contention", When::SameCulprit),
    // Who waits behind a deadlock is not in it, but its victim.
    ("deadlock", "blocked-forever", When::Always),
    ("deadlock", "lock-contention", When::Always),
    ("deadlock", "thread-leak", When::SameCulprit),
    ("deadlock", "stuck-tasks", When::SameCulprit),
    // The lock that is never given back is what the others wait for.
    ("blocked-forever", "lock-contention", When::Always),
    ("blocked-forever", "thread-leak", When::SameCulprit),
    // A finalizer that waits for a lock is found as a wait, too.
    ("blocked-finalizer", "blocked-forever", When::Always),
    ("blocked-finalizer", "lock-contention", When::Always),
    ("blocked-finalizer", "memory-leak", When::Always),
    ("regex-backtracking", "hot-method", When::SameCulprit),
    // Throwing, compiling and collecting use processors.
    ("exception-storm", "hot-method", When::SameCulprit),
    ("jit-storm", "hot-method", When::Always),
    ("jit-storm", "allocation-pressure", When::SameCulprit),
    ("induced-gc", "long-gc-pauses", When::Always),
    ("induced-gc", "allocation-pressure", When::Always),
    ("induced-gc", "hot-method", When::SameCulprit),
    // Long pauses are of full collections, which allocation alone does not explain.
    ("long-gc-pauses", "allocation-pressure", When::Always),
    ("long-gc-pauses", "hot-method", When::SameCulprit),
    ("allocation-pressure", "hot-method", When::SameCulprit),
    // A leak by a known mechanism is that leak.
    ("event-handler-leak", "memory-leak", When::Always),
    ("timer-leak", "memory-leak", When::Always),
    ("duplicate-strings", "memory-leak", When::Always),
    ("memory-leak", "long-gc-pauses", When::SameCulprit),
    // Operations that never end and become more are kept by what they wait for.
    ("memory-leak", "stuck-tasks", When::SameCulprit),
];

/// Merges symptoms into their causes: what they add stands there as evidence.
pub(crate) fn merge(mut verdicts: Vec<Verdict>) -> Vec<Verdict> {
    for (cause, symptom, when) in MERGES {
        let mut kept: Vec<Verdict> = Vec::with_capacity(verdicts.len());
        let mut absorbed: Vec<(usize, Verdict)> = Vec::new();
        let causes: Vec<Verdict> =
            verdicts.iter().filter(|verdict| verdict.finding.id == *cause).cloned().collect();
        for verdict in verdicts {
            let by = causes.iter().position(|cause| {
                verdict.finding.id == *symptom
                    && (*when == When::Always || same_culprit(cause, &verdict))
                    && cause.finding.severity > model::Severity::Info
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
            let what = "It also shows as".to_owned();
            cause.finding.evidence.push(Evidence { what, seen: symptom.finding.title });
        }
        verdicts = kept;
    }
    verdicts
}

fn same_culprit(one: &Verdict, other: &Verdict) -> bool {
    let name = |verdict: &Verdict| verdict.finding.culprit.as_ref().map(|culprit| culprit.name.clone());
    name(one).is_some() && name(one) == name(other)
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
mod tests {
    use model::{Confidence, Culprit, CulpritKind, Finding, Severity};

    use super::*;

    fn verdict(id: &str, culprit: &str, cost: f64) -> Verdict {
        let finding = Finding::new(id, Severity::Warning, Confidence::High, format!("{id} of {culprit}"))
            .culprit(Culprit::new(CulpritKind::Method, culprit));
        Verdict { finding, cost }
    }

    #[test]
    fn starvation_by_a_blocking_call_is_one_finding() {
        let found = vec![
            verdict("sync-over-async", "A.Get", 30.0),
            verdict("stuck-tasks", "A.GetAsync", 60.0),
            verdict("thread-pool-starvation", "A.Get", 90.0),
            verdict("thread-leak", "A.Get", 20.0),
        ];
        let merged = merge(found);
        assert_eq!(merged.len(), 1);
        assert_eq!(merged[0].finding.id, "thread-pool-starvation");
        assert_eq!(merged[0].finding.evidence.len(), 3);
    }

    #[test]
    fn two_illnesses_stay_two() {
        let mut found =
            merge(vec![verdict("hot-method", "A.Run", 50.0), verdict("regex-backtracking", "B.Match", 70.0)]);
        rank(&mut found);
        let ids: Vec<&str> = found.iter().map(|verdict| verdict.finding.id.as_str()).collect();
        assert_eq!(ids, ["regex-backtracking", "hot-method"]);
    }
}
