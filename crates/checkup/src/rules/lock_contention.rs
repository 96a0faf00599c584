//! `lock-contention`: threads queue for a lock.
//!
//! For: time waited for one lock that is a large part of the window; less, if the method that waits for it is the one that calls what
//! keeps the processors busy: then all that work is done by one thread at a time. Against: locks that are held for microseconds,
//! however often they are wanted, and threads that wait because processors are missing.

use model::{Body, Confidence, Finding, Frame, Report, Severity};
use profilers::culprit_of;

use super::hot_method::above;
use super::{Case, Verdict};
use crate::kin::{bare, column, number};

/// Waited for a lock under which the processors are busy, in per cent of the window, all threads together.
const WAITED_UNDER_WORK: f64 = 30.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let waited = case.signs.told().map_or(0.0, |told| told.lock_waited_ns);
    let window = case.signs.window.as_nanos() as f64;
    // Of the threads' time, several of which may wait at once.
    let cost = (waited / window.max(1.0) * 100.0).clamp(10.0, 90.0);
    let found = case.adopt("lock-contention", cost);
    if !found.is_empty() {
        return found;
    }
    under_work(case).map(|finding| Verdict { finding, cost }).into_iter().collect()
}

/// Threads wait for a lock whose owner does what keeps the processors busy.
fn under_work(case: &Case<'_>) -> Option<Finding> {
    let report = case.looks.report("contention")?;
    let frame = first_waiter(report)?;
    // The lock that was waited for longest comes first.
    let waited_ns = column(report, "locks", "total").next().and_then(number)?;
    let share = waited_ns as f64 / (report.window.measured_ns as f64).max(1.0) * 100.0;
    let hot = case.found("hot-method").into_iter().next()?;
    let name = hot.culprit.as_ref().map(|culprit| bare(&culprit.name))?;
    let calls_it = |frames: &[Frame]| frames.iter().skip(1).any(|above| above.name == frame.name);
    let is_under = above(case, name).iter().any(|(_, frames)| calls_it(frames));
    (share >= WAITED_UNDER_WORK && is_under).then(|| {
        let title = format!("Threads queue for a lock, which its owner holds while it works in {name}");
        Finding::new("lock-contention", Severity::Warning, Confidence::Medium, title)
            .culprit(culprit_of(frame))
            .evidence("Waited", format!("{share:.0} % of the time, all threads together"))
            .evidence("Its owner meanwhile", hot.title.clone())
            .advice("Do less while the lock is held: move slow work out of it.")
            .advice("Split the lock, or use a concurrent collection or a ReaderWriterLockSlim.")
    })
}

/// The program's own method that waits longest.
fn first_waiter(report: &Report) -> Option<&Frame> {
    let section = report.sections.iter().find(|section| section.id == "waiters")?;
    let Body::Stacks(stacks) = &section.body else { return None };
    stacks.stacks.first()?.frames.iter().find(|frame| !symbols::is_framework(frame))
}
