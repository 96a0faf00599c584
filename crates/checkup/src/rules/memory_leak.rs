//! `memory-leak`: objects are kept that nobody needs any more.
//!
//! For: a type whose objects became more from one look at the heap to the next, with the path that holds them. Against: caches
//! that are filled once, and garbage that was not collected yet.

use super::{Case, Verdict};

/// It breaks nothing until memory is out.
const COST: f64 = 25.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    case.adopt("memory-leak", COST)
}
