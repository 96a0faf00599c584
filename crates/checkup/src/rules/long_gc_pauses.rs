//! `long-gc-pauses`: collections stop all threads for so long that people notice.
//!
//! For: pauses of 100 ms and more, by the look at pauses; or one full collection that long among the vital signs and another in the
//! look, or one of half a second. Against: a machine without a free processor, on which everything takes long: what it adds is taken off.

use model::{Cell, Confidence, Finding, Report, Severity, format_duration};
use profilers::culprit_of;

use super::{Case, Verdict};
use crate::kin::{column, number};

/// A pause that people notice, in nanoseconds.
const LONG_NS: f64 = 100e6;
/// A pause that nobody takes for bad luck.
const VERY_LONG_NS: f64 = 500e6;
/// A full collection that stops the program from its begin to its end, in the words of the look at pauses.
const FULL: &str = "gen 2 blocking";

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let cost = case.signs.told().map_or(10.0, crate::signs::RuntimeSigns::gc_percent).clamp(5.0, 100.0);
    let found = case.adopt("long-gc-pauses", cost);
    if !found.is_empty() {
        return found;
    }
    again_and_again(case).map(|finding| Verdict { finding, cost }).into_iter().collect()
}

/// A long full collection in the window of the signs, and one in that of the look.
fn again_and_again(case: &Case<'_>) -> Option<Finding> {
    let report = case.looks.report("gc-pauses")?;
    let before = case.signs.told()?.longest_full_ns;
    let now = longest_full(report)?;
    let starved = case.signs.system.as_ref().map_or(0.0, crate::signs::System::starved_percent);
    let own = |ns: u64| ns as f64 * (1.0 - starved / 100.0);
    let is_habit = own(before) >= LONG_NS && own(now) >= LONG_NS;
    if !is_habit && own(before.max(now)) < VERY_LONG_NS {
        return None;
    }
    let words = |ns: u64| format_duration(std::time::Duration::from_nanos(ns));
    let longest = before.max(now);
    let title = format!("Full collections stop the program for up to {}", words(longest));
    let finding = Finding::new("long-gc-pauses", Severity::Warning, Confidence::Medium, title)
        .evidence("Longest", format!("{FULL}, {}", words(longest)))
        .evidence("In two windows", format!("{} and {}", words(before), words(now)))
        .advice(
            "Full collections that block take time for every object that lives: let background collection \
             (System.GC.Concurrent, GCLatencyMode.Interactive) do them, and keep fewer small objects.",
        );
    let frame = crate::kin::stacks(report)
        .find_map(|stack| stack.frames.iter().find(|frame| !symbols::is_framework(frame)));
    Some(match frame {
        Some(frame) => finding.culprit(culprit_of(frame)),
        None => finding,
    })
}

/// The longest pause of a full collection that a look saw.
fn longest_full(report: &Report) -> Option<u64> {
    let pauses = column(report, "longest", "collection").zip(column(report, "longest", "pause"));
    let full = pauses.filter(|(collection, _)| **collection == Cell::from(FULL));
    full.filter_map(|(_, length)| number(length)).max()
}
