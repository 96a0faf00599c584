//! `blocked-finalizer`: the one thread that runs finalizers is stuck, so dead objects pile up.
//!
//! For: the finalizer thread in the program's own code in two looks, with a queue behind it; or a thread that waits for a lock that
//! stands still, in a finalizer. Against: a finalizer that runs.

use facts::{Confidence, Culprit, Fact, Frame, Severity, Sign, is_framework};

use crate::{Case, Verdict};

/// Memory and descriptors that are never given back.
const COST: f64 = 50.0;
/// How the compiler calls every finalizer.
const FINALIZER: &str = ".Finalize";

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let found = case.adopt("blocked-finalizer", COST);
    if !found.is_empty() {
        return found;
    }
    // The queue was not looked at, because it would have taken too long a pause; the stacks alone say that it stands still.
    let stuck = [case.adopt("deadlock", COST), case.adopt("blocked-forever", COST)].concat();
    let (Some(wait), Some(frame)) = (stuck.into_iter().next(), waiting_finalizer(case)) else { return found };
    let sign = Sign::FinalizerWaits { method: frame.name.clone() };
    let mut verdict =
        Verdict::of_sign("blocked-finalizer", (Severity::Warning, Confidence::Medium), sign, COST)
            .culprit(Culprit::of(frame))
            .fact(Fact::Includes { finding: wait.finding.related() });
    verdict.causes.push(wait);
    vec![verdict]
}

/// A finalizer of the program's among the threads that stand still.
fn waiting_finalizer(case: &Case) -> Option<&Frame> {
    let mut frames = case.still().flat_map(|thread| &thread.frames);
    frames.find(|frame| frame.name.ends_with(FINALIZER) && !is_framework(frame))
}
