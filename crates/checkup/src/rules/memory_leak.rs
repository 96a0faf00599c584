//! `memory-leak`: objects are kept that nobody needs any more.
//!
//! For: a type whose objects became more from one look at the heap to the next, with the path that holds them. Against: caches
//! that are filled once, and garbage that was not collected yet. Without a look at the heap, memory that grows is only a hint.

use model::{Confidence, Finding, Severity};

use super::{Case, Verdict};
use crate::words::bytes;

/// It breaks nothing until memory is out.
const COST: f64 = 25.0;
/// Growth of its memory in the window, in bytes, that is worth a hint.
const HINT: u64 = 8 << 20;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let found = case.adopt("memory-leak", COST);
    if !found.is_empty() || case.has_look("memory-leaks") {
        return found;
    }
    let Some(system) = &case.signs.system else { return found };
    let grew = system.resident.growth();
    // Our own session takes some megabytes at its start. What grows later is not ours.
    let later = system.resident.growth_of_second_half();
    if grew < HINT || later < HINT / 2 || !system.resident.mostly_grows() {
        return found;
    }
    let title = format!("Its memory grew by {} in {:.0} s", bytes(grew as f64), system.window.as_secs_f64());
    let finding = Finding::new("memory-leak", Severity::Info, Confidence::Low, title)
        .evidence("Memory", bytes(system.resident.last() as f64))
        .advice("A heap may grow for a while before it is collected; --allow-pause finds out what it holds.");
    vec![Verdict { finding, cost: 1.0 }]
}
