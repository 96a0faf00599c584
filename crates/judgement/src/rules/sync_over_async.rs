//! `sync-over-async`: threads block on tasks (`.Result`, `.Wait()`) instead of awaiting them.
//!
//! For: pool threads seen in such a wait, again and again. Against: one thread that waits for the end of the program, which every
//! console program has.

use crate::{Case, Verdict};

/// Each blocked thread is lost to the pool; it can make more, slowly.
const COST: f64 = 30.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    case.adopt("sync-over-async", COST)
}
