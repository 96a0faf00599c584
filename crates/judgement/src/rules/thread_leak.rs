//! `thread-leak`: threads are started and never end.
//!
//! For: many threads stuck in one place of the code, and more of them at the second look. Against: pool threads that are parked,
//! and threads that wait for work, as those of a queue do.

use crate::{Case, Verdict};

/// 8 MB of address space and some kernel memory each; it ends with the process.
const COST: f64 = 20.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    case.adopt("thread-leak", COST)
}
