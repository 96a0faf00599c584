//! `timer-leak`: timers are made and never disposed.
//!
//! For: thousands of active timers. Against: a hundred or so, which servers have: one for each connection or cache.

use model::{Confidence, Finding, Severity};

use super::{Case, Verdict};

/// Timers from which they are more than anybody meant to have. A server with a thousand connections has about as many.
const MANY: f64 = 5_000.0;
/// Growth in the window, with at least [`SOME`] of them.
const GROWTH: f64 = 10.0;
/// Timers from which growth counts.
const SOME: f64 = 200.0;
/// They are looked through at every tick.
const COST: f64 = 15.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let found = case.adopt("timer-leak", COST);
    let counted = case.signs.told().and_then(|told| told.counter("active-timer-count"));
    let Some(timers) = counted.filter(|_| found.is_empty() && !case.has_look("timers")) else { return found };
    let (first, last) = (timers.0.first().copied().unwrap_or(0.0), timers.last());
    let grows = timers.0.windows(2).all(|pair| pair.first() <= pair.last());
    if last < MANY && !(last >= SOME && grows && last - first >= GROWTH) {
        return found;
    }
    let title = format!("{last:.0} timers are active at once");
    let finding = Finding::new("timer-leak", Severity::Warning, Confidence::Medium, title)
        .evidence("Active timers", format!("{first:.0} at first, {last:.0} at last"))
        .advice("Dispose each timer with the object it belongs to.")
        .advice("Many that do the same can be one timer that goes through a list.");
    vec![Verdict { finding, cost: COST }]
}
