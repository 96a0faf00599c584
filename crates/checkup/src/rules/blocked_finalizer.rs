//! `blocked-finalizer`: the one thread that runs finalizers is stuck, so dead objects pile up.
//!
//! For: the finalizer thread in the program's own code in two looks, with a queue behind it; or a thread that waits for a lock that
//! stands still, in a finalizer. Against: a finalizer that runs.

use model::{Body, Confidence, Finding, Frame, Severity};
use profilers::culprit_of;

use super::{Case, Verdict};

/// Memory and descriptors that are never given back.
const COST: f64 = 50.0;
/// How the compiler calls every finalizer.
const FINALIZER: &str = ".Finalize";

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let found = case.adopt("blocked-finalizer", COST);
    if !found.is_empty() {
        return found;
    }
    // The queue was not looked at, because it would have taken too long a pause; the stacks alone say that it stands still.
    let stuck: Vec<Finding> = [case.found("deadlock"), case.found("blocked-forever")].concat();
    let (Some(wait), Some(frame)) = (stuck.first(), waiting_finalizer(case)) else { return found };
    let name = frame.name.clone();
    let finding = Finding::new(
        "blocked-finalizer",
        Severity::Warning,
        Confidence::Medium,
        format!("No finalizer runs any more: {name} waits for a lock that stands still"),
    )
    .culprit(culprit_of(frame))
    .evidence("It waits because", wait.title.clone())
    .advice("A finalizer must not wait for anything: no locks, no I/O, no other threads.")
    .advice("Free things in Dispose; let the finalizer be a safety net that only closes a handle.");
    vec![Verdict { finding, cost: COST }]
}

/// A finalizer of the program's in a stack that the look at the locks shows.
fn waiting_finalizer<'a>(case: &'a Case<'_>) -> Option<&'a Frame> {
    let report = case.looks.report("deadlocks")?;
    let stacks = report.sections.iter().filter_map(|section| match &section.body {
        Body::Stacks(stacks) => Some(&stacks.stacks),
        _ => None,
    });
    let mut frames = stacks.flatten().flat_map(|stack| &stack.frames);
    frames.find(|frame| frame.name.ends_with(FINALIZER) && !symbols::is_framework(frame))
}
