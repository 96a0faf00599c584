//! `stuck-tasks`: async operations wait for something that does not come.
//!
//! For: many operations in one place of the code that have not moved between two looks, or operations that await each other.
//! Against: waits that end by themselves, such as for time, connections and work.

use crate::{Case, Verdict};

/// What they were to do is not done, but others go on.
const COST: f64 = 60.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    case.adopt("stuck-tasks", COST)
}
