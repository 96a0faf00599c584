//! `blocked-forever`: threads wait for what cannot come: a lock whose owner has ended, or waits itself; a process that was
//! stopped.
//!
//! For: two looks with nothing moved. Against: an owner that runs.

use facts::{Confidence, Severity, Sign};

use crate::signs::Frozen;
use crate::{Case, Verdict};

/// The threads concerned do nothing any more.
const COST: f64 = 80.0;
/// All of the process does nothing.
const COST_OF_ALL: f64 = 100.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let mut verdicts = case.adopt("blocked-forever", COST);
    // A debugger is another illness.
    if case.signs.frozen == Some(Frozen::Stopped) {
        let grade = (Severity::Critical, Confidence::High);
        verdicts.push(Verdict::of_sign("blocked-forever", grade, Sign::Stopped, COST_OF_ALL));
    }
    verdicts
}
