//! `long-gc-pauses`: collections stop all threads for so long that people notice.
//!
//! For: pauses of 100 ms and more, by the look at pauses; or one full collection that long among the vital signs and another in the
//! look, or one of half a second. Against: a machine without a free processor, on which everything takes long: what it adds is taken off.

use facts::{Confidence, Culprit, Fact, PauseCause, Severity, Sign};

use crate::{Case, Verdict};

/// A pause that people notice, in nanoseconds.
const LONG_NS: f64 = 100e6;
/// A pause that nobody takes for bad luck.
const VERY_LONG_NS: f64 = 500e6;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let cost =
        case.signs.runtime.as_ref().map_or(10.0, crate::signs::RuntimeSigns::gc_percent).clamp(5.0, 100.0);
    let found = case.adopt("long-gc-pauses", cost);
    if !found.is_empty() {
        return found;
    }
    again_and_again(case, cost).into_iter().collect()
}

/// A long full collection in the window of the signs, and one in that of the look.
fn again_and_again(case: &Case, cost: f64) -> Option<Verdict> {
    let look = case.look("gc-pauses")?.facts.full_collection.as_ref()?;
    let (before_ns, now_ns) = (case.signs.runtime.as_ref()?.longest_full_ns, look.ns);
    let starved = case.signs.system.as_ref().map_or(0.0, crate::signs::System::starved_percent);
    let own = |ns: u64| ns as f64 * (1.0 - starved / 100.0);
    let is_habit = own(before_ns) >= LONG_NS && own(now_ns) >= LONG_NS;
    let ns = before_ns.max(now_ns);
    if !is_habit && own(ns) < VERY_LONG_NS {
        return None;
    }
    let sign = Sign::FullCollections { before_ns, now_ns };
    let cause = PauseCause::Collection { generation: Some(2), blocking: true };
    let verdict = Verdict::of_sign("long-gc-pauses", (Severity::Warning, Confidence::Medium), sign, cost)
        .fact(Fact::LongestPause { cause, ns });
    Some(match &look.place {
        Some(frame) => verdict.culprit(Culprit::of(frame)),
        None => verdict,
    })
}
