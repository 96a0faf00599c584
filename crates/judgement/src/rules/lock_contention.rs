//! `lock-contention`: threads queue for a lock.
//!
//! For: time waited for one lock that is a large part of the window; less, if the method that waits for it is the one that calls what
//! keeps the processors busy: then all that work is done by one thread at a time. Against: locks that are held for microseconds,
//! however often they are wanted, and threads that wait because processors are missing.

use facts::{Confidence, Culprit, Fact, Frame, Severity, Sign};

use super::hot_method::above;
use crate::relations::blamed;
use crate::{Case, Verdict};

/// Waited for a lock under which the processors are busy, in per cent of the window, all threads together.
const WAITED_UNDER_WORK: f64 = 30.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let waited = case.signs.runtime.as_ref().map_or(0.0, |runtime| runtime.lock_waited_ns);
    let window = case.signs.window.as_nanos() as f64;
    // Of the threads' time, several of which may wait at once.
    let cost = (waited / window.max(1.0) * 100.0).clamp(10.0, 90.0);
    let found = case.adopt("lock-contention", cost);
    if !found.is_empty() {
        return found;
    }
    under_work(case, cost).into_iter().collect()
}

/// Threads wait for a lock whose owner does what keeps the processors busy.
fn under_work(case: &Case, cost: f64) -> Option<Verdict> {
    let lock = case.look("contention")?.facts.lock.as_ref()?;
    let frame = lock.place.as_ref()?;
    let hot = case.adopt("hot-method", cost).into_iter().next()?;
    let method = blamed(&hot.finding)?.to_owned();
    let calls_it = |frames: &[Frame]| frames.iter().skip(1).any(|above| above.name == frame.name);
    let is_under = above(case, &method).iter().any(|(_, frames)| calls_it(frames));
    (lock.percent >= WAITED_UNDER_WORK && is_under).then(|| {
        let sign = Sign::LockUnderWork { percent: lock.percent, method: method.clone() };
        let mut verdict =
            Verdict::of_sign("lock-contention", (Severity::Warning, Confidence::Medium), sign, cost)
                .culprit(Culprit::of(frame))
                .fact(Fact::names([method]))
                .fact(Fact::Includes { finding: hot.finding.related() });
        verdict.causes.push(hot);
        verdict
    })
}
