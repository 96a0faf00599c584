//! `timer-leak`: timers are made and never disposed.
//!
//! For: thousands of active timers. Against: a hundred or so, which servers have: one for each connection or cache.

use facts::{Confidence, Severity, Sign};

use crate::{Case, Verdict};

/// Timers from which they are more than anybody meant to have. A server with a thousand connections has about as many.
const MANY: f64 = 5_000.0;
/// Growth in the window, with at least [`SOME`] of them.
const GROWTH: f64 = 10.0;
/// Timers from which growth counts.
const SOME: f64 = 200.0;
/// They are looked through at every tick.
const COST: f64 = 15.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let found = case.adopt("timer-leak", COST);
    let counted = case.signs.runtime.as_ref().and_then(|runtime| runtime.counter("active-timer-count"));
    let Some(timers) = counted.filter(|_| found.is_empty() && !case.has_look("timers")) else { return found };
    let (first, last) = (timers.0.first().copied().unwrap_or(0.0), timers.last());
    let grows = timers.0.windows(2).all(|pair| pair.first() <= pair.last());
    if last < MANY && !(last >= SOME && grows && last - first >= GROWTH) {
        return found;
    }
    let sign = Sign::Timers { first, last };
    vec![Verdict::of_sign("timer-leak", (Severity::Warning, Confidence::Medium), sign, COST)]
}
