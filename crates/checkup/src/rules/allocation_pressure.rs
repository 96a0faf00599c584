//! `allocation-pressure`: so much is allocated that the collector takes a large part of the time.
//!
//! For: time in collections. Against: much that is allocated and dies young, which costs next to nothing whatever its rate.

use super::{Case, Verdict};

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let cost = case.signs.told().map_or(10.0, crate::signs::RuntimeSigns::gc_percent);
    case.adopt("allocation-pressure", cost.min(100.0))
}
