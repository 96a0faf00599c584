//! `blocked-finalizer`: the one thread that runs finalizers is stuck, so dead objects pile up.
//!
//! For: the finalizer thread in the program's own code in two looks, or collections after which the number of objects that wait
//! for it only grows. Against: a finalizer that runs.

use super::{Case, Verdict};

/// Memory and descriptors that are never given back.
const COST: f64 = 50.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    case.adopt("blocked-finalizer", COST)
}
