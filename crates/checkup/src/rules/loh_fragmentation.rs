//! `loh-fragmentation`: the large object heap has holes that nothing fits into.
//!
//! For: a large object heap that is a large part of the heap, of which the collector counts much as free. Against: a small
//! one, and holes in young generations, which are used at once.

use model::{Confidence, Finding, Severity};

use super::{Case, Verdict};
use crate::words::{bytes, percent};

/// The large object heap, in bytes, from which its holes matter.
const LEAST_LARGE: u64 = 64 << 20;
/// Of the heap, in per cent, that is holes.
const HOLES: f64 = 30.0;
/// Of the heap, in per cent, that is the large object heap: else the holes may be elsewhere.
const LARGE_SHARE: f64 = 60.0;
/// Memory, not time.
const COST: f64 = 12.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let found = case.adopt("loh-fragmentation", COST);
    let Some(told) = case.signs.told().filter(|_| found.is_empty() && !case.has_seen_holes()) else {
        return found;
    };
    let holes = told.holes().unwrap_or(0.0);
    let large = told.counter("loh-size").map_or(0.0, crate::signs::Values::last);
    let large = large.max(told.heap.as_ref().map_or(0.0, |heap| heap.large_bytes as f64));
    let whole = told.heap_bytes().unwrap_or(0.0).max(large);
    if large < LEAST_LARGE as f64 || holes < HOLES || large < whole * LARGE_SHARE / 100.0 {
        return found;
    }
    let title = format!("{} of the heap is holes between large objects", percent(holes));
    let finding = Finding::new("loh-fragmentation", Severity::Warning, Confidence::Medium, title)
        .evidence("Large object heap", format!("{} of {}", bytes(large), bytes(whole)))
        .evidence("Free within the heap", percent(holes))
        .advice("Rent large arrays from ArrayPool instead of allocating them.")
        .advice("GCSettings.LargeObjectHeapCompactionMode = CompactOnce closes the holes once.");
    vec![Verdict { finding, cost: COST }]
}
