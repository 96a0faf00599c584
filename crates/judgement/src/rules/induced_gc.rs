//! `induced-gc`: the program's own code forces collections.
//!
//! For: collections whose reason is that the program asked, with the place that did. Against: young collections that cost next to
//! nothing, which the framework asks for on behalf of memory outside the heap (`GC.AddMemoryPressure`, unloadable assemblies).

use facts::{Confidence, Severity};

use crate::{Case, Verdict};

/// Time in collections, in per cent, from which forced ones matter whatever their generation.
const MATTERS: f64 = 2.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let runtime = case.signs.runtime.as_ref();
    let share = runtime.map_or(10.0, crate::signs::RuntimeSigns::gc_percent);
    let harmless = runtime.is_some_and(|runtime| {
        let [_, _, full] = runtime.collections;
        full == 0 && share < MATTERS
    });
    let mut verdicts = case.adopt("induced-gc", share.clamp(5.0, 100.0));
    for verdict in verdicts.iter_mut().filter(|_| harmless) {
        verdict.finding.severity = Severity::Info;
        verdict.finding.confidence = Confidence::Medium;
    }
    verdicts
}
