//! `allocation-pressure`: so much is allocated that the collector takes a large part of the time.
//!
//! For: time in collections; pauses that people notice and that are those of young collections. Against: much that is allocated and
//! dies young, which costs next to nothing whatever its rate.

use model::{Confidence, Finding};

use super::{Case, Verdict};
use crate::kin::longest_is_young;
use crate::words::percent;

/// Of the time, in per cent, in young collections, if their pauses are long besides; as in the profiler `allocations`.
const YOUNG: f64 = 10.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let cost = case.signs.told().map_or(10.0, crate::signs::RuntimeSigns::gc_percent).min(100.0);
    let found = case.adopt("allocation-pressure", cost);
    if !found.is_empty() {
        return found;
    }
    long_young_pauses(case).map(|finding| Verdict { finding, cost }).into_iter().collect()
}

/// Young collections take time for what is new and survives.
fn long_young_pauses(case: &Case<'_>) -> Option<Finding> {
    let told = case.signs.told()?;
    let young = told.percent(told.young_ns);
    let long = case.found("long-gc-pauses").into_iter().find(longest_is_young)?;
    (young >= YOUNG).then(|| Finding {
        id: "allocation-pressure".to_owned(),
        confidence: Confidence::Medium,
        title: format!(
            "Allocation keeps the collector busy: young collections take {} of the time",
            percent(young)
        ),
        ..long
    })
}
