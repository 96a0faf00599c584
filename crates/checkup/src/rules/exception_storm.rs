//! `exception-storm`: exceptions are thrown all the time, and nobody notices.
//!
//! For: a rate that no program has by accident. Each costs 10 to 50 us, and more with deep stacks. Against: a few a second, which
//! are how programs learn of timeouts and cancelled requests.

use model::{Confidence, Finding, Severity};

use super::{Case, Verdict};
use crate::words::rate;

/// Exceptions a second, as in the profiler `exceptions`.
const STORM: f64 = 100.0;
/// Processor time of one, in seconds.
const SECONDS_EACH: f64 = 30e-6;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let thrown = case.signs.told().map_or(0.0, |told| told.rate(told.exceptions));
    let cost = (thrown * SECONDS_EACH * 100.0).clamp(1.0, 100.0);
    let found = case.adopt("exception-storm", cost);
    if !found.is_empty() || case.has_look("exceptions") || thrown < STORM {
        return found;
    }
    let title = format!("Exceptions are thrown {}", rate(thrown));
    let finding = Finding::new("exception-storm", Severity::Warning, Confidence::Medium, title)
        .evidence("Thrown", rate(thrown))
        .advice("Find out which ones, and test before instead of catching after.");
    vec![Verdict { finding, cost }]
}
