//! `memory-leak`: objects are kept that nobody needs any more.
//!
//! For: a type whose objects became more from one look at the heap to the next, with the path that holds them. Against: caches
//! that are filled once, and garbage that was not collected yet. Without a look at the heap, memory that grows is only a hint.

use facts::{Confidence, Severity, Sign};

use crate::{Case, Verdict};

/// It breaks nothing until memory is out.
const COST: f64 = 25.0;
/// Growth of its memory in the window, in bytes, that is worth a hint.
const HINT: u64 = 8 << 20;
/// A hint alone.
const COST_OF_A_HINT: f64 = 1.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let found = case.adopt("memory-leak", COST);
    if !found.is_empty() || case.has_look("memory-leaks") {
        return found;
    }
    let Some(system) = &case.signs.system else { return found };
    let bytes = system.resident.growth();
    // Our own session takes some megabytes at its start. What grows later is not ours.
    let later = system.resident.growth_of_second_half();
    if bytes < HINT || later < HINT / 2 || !system.resident.mostly_grows() {
        return found;
    }
    let seconds = system.window.as_secs_f64();
    let sign = Sign::MemoryGrew { bytes, seconds, resident: system.resident.last() };
    vec![Verdict::of_sign("memory-leak", (Severity::Info, Confidence::Low), sign, COST_OF_A_HINT)]
}
