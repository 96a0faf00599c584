//! `induced-gc`: the program's own code forces collections.
//!
//! For: collections whose reason is that the program asked, with the place that did. Against: one now and then, as tests,
//! installers and memory-pressure handlers do.

use super::{Case, Verdict};

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let cost = case.signs.told().map_or(10.0, crate::signs::RuntimeSigns::gc_percent);
    case.adopt("induced-gc", cost.clamp(5.0, 100.0))
}
