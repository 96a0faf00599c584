//! `allocation-pressure`: so much is allocated that the collector takes a large part of the time.
//!
//! For: time in collections; pauses that people notice and that are those of young collections. Against: much that is allocated and
//! dies young, which costs next to nothing whatever its rate.

use facts::{Confidence, Sign};

use crate::relations::longest_is_young;
use crate::{Case, Verdict};

/// Of the time, in per cent, in young collections, if their pauses are long besides; as in the profiler `allocations`.
const YOUNG: f64 = 10.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let cost = case.signs.runtime.as_ref().map_or(10.0, crate::signs::RuntimeSigns::gc_percent).min(100.0);
    let found = case.adopt("allocation-pressure", cost);
    if !found.is_empty() {
        return found;
    }
    long_young_pauses(case, cost).into_iter().collect()
}

/// Young collections take time for what is new and survives.
fn long_young_pauses(case: &Case, cost: f64) -> Option<Verdict> {
    let runtime = case.signs.runtime.as_ref()?;
    let percent = runtime.percent(runtime.young_ns);
    let is_young = |verdict: &Verdict| longest_is_young(&verdict.finding);
    let mut long = case.adopt("long-gc-pauses", cost).into_iter().find(is_young)?;
    long.finding.id = "allocation-pressure".to_owned();
    long.finding.confidence = Confidence::Medium;
    (percent >= YOUNG).then(|| long.with_sign(Sign::YoungCollections { percent }))
}
