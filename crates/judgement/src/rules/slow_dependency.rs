//! `slow-dependency`: outgoing HTTP calls or database commands take long, or fail.
//!
//! For: calls of a second or longer in which most of the time is lost; one call in ten that fails. Where the library's own notes
//! are switched off, or report no call that ends, counters (.NET 5): calls under way at a time, divided by calls begun per second,
//! which is how long one takes. Against: a single long poll, which is meant to wait.

use facts::{CallsKind, Confidence, Fact, Observation, Severity, Sign};

use crate::signs::{Signs, Values};
use crate::{Case, Verdict};

/// A call that people wait for is slow from here on, in seconds.
const SLOW: f64 = 1.0;
/// Calls under way at a time: one alone may be meant to wait.
const MIN_AT_ONCE: f64 = 1.5;
/// Of the calls, in per cent, that fail.
const FAILING: f64 = 10.0;
/// Failures a second below which they are chance: a program that starts asks some services in vain, as those of a cloud that it is not in.
const MIN_FAILURES: f64 = 1.5;
/// Requests wait for it.
const COST: f64 = 40.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let found = case.adopt("slow-dependency", COST);
    // Whose notes were heard from begin to end is known better than by counters.
    let is_heard = case.signs.calls.http.ended > 0 && case.has_look("outgoing-calls");
    if found.is_empty() && !is_heard { counted(case).into_iter().collect() } else { found }
}

fn counted(case: &Case) -> Option<Verdict> {
    let runtime = case.signs.runtime.as_ref()?;
    let mean = |name: &str| runtime.http_counter(name).map_or(0.0, Values::mean);
    let (at_once, begun, failed) =
        (mean("current-requests"), mean("requests-started-rate"), mean("requests-failed-rate"));
    let seconds = mean_call_seconds(&case.signs).unwrap_or(0.0);
    let slow = seconds >= SLOW && at_once >= MIN_AT_ONCE;
    let failing = failed >= MIN_FAILURES && failed * 100.0 >= begun * FAILING;
    if !slow && !failing {
        return None;
    }
    let sign = Sign::Calls { kind: CallsKind::Http, slow, seconds, at_once, begun, failed };
    let verdict = Verdict::of_sign("slow-dependency", (Severity::Warning, Confidence::Medium), sign, COST);
    Some(match caller(case) {
        Some((found, to)) => {
            let verdict = verdict.fact(to.clone());
            found.culprit.clone().map_or(verdict.clone(), |culprit| verdict.culprit(culprit))
        }
        None => verdict,
    })
}

/// Who calls most, and where the calls go.
fn caller(case: &Case) -> Option<(&Observation, &Fact)> {
    let mut found = case.look("outgoing-calls")?.found.iter();
    found.find_map(|finding| {
        let to = finding.facts.iter().find(|fact| matches!(fact, Fact::CallsTo { .. }))?;
        Some((finding, to))
    })
}

/// How long outgoing HTTP calls take on average: those under way at a time, divided by those begun per second.
#[must_use]
pub fn mean_call_seconds(signs: &Signs) -> Option<f64> {
    let runtime = signs.runtime.as_ref()?;
    let under_way = runtime.http_counter("current-requests")?.mean();
    let begun = runtime.http_counter("requests-started-rate")?.mean();
    if under_way <= 0.0 {
        return None;
    }
    // Nothing begun: each takes longer than the window.
    Some(if begun > 0.0 { under_way / begun } else { runtime.window.as_secs_f64() })
}
