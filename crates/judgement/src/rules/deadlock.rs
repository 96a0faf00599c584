//! `deadlock`: threads that wait for each other's locks will wait for ever.
//!
//! For: a ring of locks and owners, seen twice with nothing moved in between. Against: a wait with a timeout, which ends by
//! itself; the look at the locks knows both.

use crate::{Case, Verdict};

/// Everything that comes near the locks stands still; nothing costs more.
const COST: f64 = 100.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    case.adopt("deadlock", COST)
}
