//! `exception-storm`: exceptions are thrown all the time, and nobody notices.
//!
//! For: a rate that no program has by accident. Each costs 10 to 50 us, and more with deep stacks. Against: a few a second, which
//! are how programs learn of timeouts and cancelled requests.

use facts::{Confidence, Severity, Sign};

use crate::{Case, Verdict};

/// Exceptions a second, as in the profiler `exceptions`.
const STORM: f64 = 100.0;
/// Processor time of one, in seconds.
const SECONDS_EACH: f64 = 30e-6;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let thrown = case.signs.runtime.as_ref().map_or(0.0, |runtime| runtime.rate(runtime.exceptions));
    let cost = (thrown * SECONDS_EACH * 100.0).clamp(1.0, 100.0);
    let found = case.adopt("exception-storm", cost);
    if !found.is_empty() || case.has_look("exceptions") || thrown < STORM {
        return found;
    }
    let sign = Sign::Exceptions { per_second: thrown };
    vec![Verdict::of_sign("exception-storm", (Severity::Warning, Confidence::Medium), sign, cost)]
}
