//! `long-gc-pauses`: collections stop all threads for so long that people notice.
//!
//! For: pauses of 100 ms and more. Against: a machine without a free processor, on which everything takes long.

use super::{Case, Verdict};

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let cost = case.signs.told().map_or(10.0, crate::signs::RuntimeSigns::gc_percent);
    case.adopt("long-gc-pauses", cost.clamp(5.0, 100.0))
}
