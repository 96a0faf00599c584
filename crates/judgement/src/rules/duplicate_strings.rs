//! `duplicate-strings`: the same texts are kept many times over.
//!
//! For: memory in equal strings that is a large part of the heap. Against: strings that are about to die.

use crate::{Case, Verdict};

/// Memory, and time to collect it.
const COST: f64 = 10.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    case.adopt("duplicate-strings", COST)
}
