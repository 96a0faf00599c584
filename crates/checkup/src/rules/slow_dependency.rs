//! `slow-dependency`: outgoing HTTP calls or database commands take long, or fail.
//!
//! For: calls of a second or longer in which most of the time is lost; one call in ten that fails. Where the library's own notes
//! are switched off, or tell of no call that ends, counters (.NET 5): calls under way at a time, divided by calls begun per second,
//! which is how long one takes. Against: a single long poll, which is meant to wait.

use model::{Confidence, Finding, Severity};

use super::{Case, Verdict};
use crate::dependencies::Kind;
use crate::looks::call_advice;
use crate::steps::mean_call_seconds;
use crate::words::{percent, rate};

/// A call that people wait for is slow from here on, in seconds.
const SLOW: f64 = 1.0;
/// Calls under way at a time: one alone may be meant to wait.
const LEAST_AT_ONCE: f64 = 1.5;
/// Of the calls, in per cent, that fail.
const FAILING: f64 = 10.0;
/// Failures a second below which they are chance: a program that starts asks some services in vain, as those of a cloud that it is not in.
const LEAST_FAILURES: f64 = 1.5;
/// Requests wait for it.
const COST: f64 = 40.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let found = case.adopt("slow-dependency", COST);
    // Whose notes were heard from begin to end is known better than by counters.
    let is_heard = case.signs.calls.http.ended > 0 && case.has_look("outgoing-calls");
    if found.is_empty() && !is_heard { counted(case).into_iter().collect() } else { found }
}

fn counted(case: &Case<'_>) -> Option<Verdict> {
    let told = case.signs.told()?;
    let mean = |name: &str| told.http_counter(name).map_or(0.0, crate::signs::Values::mean);
    let (at_once, begun, failed) =
        (mean("current-requests"), mean("requests-started-rate"), mean("requests-failed-rate"));
    let seconds = mean_call_seconds(case.signs).unwrap_or(0.0);
    let slow = seconds >= SLOW && at_once >= LEAST_AT_ONCE;
    let failing = failed >= LEAST_FAILURES && failed * 100.0 >= begun * FAILING;
    if !slow && !failing {
        return None;
    }
    let caller = case.looks.report("outgoing-calls").and_then(|report| report.findings.first());
    let whom = caller.and_then(|finding| finding.evidence.first()).map(|evidence| evidence.seen.clone());
    let to = whom.map(|whom| format!(" to {whom}")).unwrap_or_default();
    let title = match slow {
        true => format!("Outgoing HTTP calls{to} take {seconds:.1} s"),
        false => {
            format!("{} of the outgoing HTTP calls{to} fail", percent(failed / begun.max(failed) * 100.0))
        }
    };
    let mut finding = Finding::new("slow-dependency", Severity::Warning, Confidence::Medium, title)
        .evidence("Calls under way", format!("{at_once:.1} at a time"))
        .evidence("Calls begun", rate(begun))
        .evidence("Calls that failed", rate(failed));
    if let Some(found) = caller {
        finding.culprit.clone_from(&found.culprit);
        finding.evidence.extend(found.evidence.iter().skip(1).cloned());
    }
    Some(Verdict { finding: call_advice(finding, Kind::Http, slow, false), cost: COST })
}
