//! `loh-fragmentation`: the large object heap has holes that nothing fits into.
//!
//! For: a large object heap that is a large part of the heap, of which the collector counts much as free. Against: a small
//! one, and holes in young generations, which are used at once.

use facts::{Confidence, Severity, Sign};

use crate::{Case, Verdict};

/// The large object heap, in bytes, from which its holes matter.
const MIN_LARGE: u64 = 64 << 20;
/// Of the heap, in per cent, that is holes.
const HOLES: f64 = 30.0;
/// Of the heap, in per cent, that is the large object heap: else the holes may be elsewhere.
const LARGE_SHARE: f64 = 60.0;
/// Memory, not time.
const COST: f64 = 12.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let found = case.adopt("loh-fragmentation", COST);
    let Some(runtime) = case.signs.runtime.as_ref().filter(|_| found.is_empty() && !case.has_seen_holes())
    else {
        return found;
    };
    let percent = runtime.holes().unwrap_or(0.0);
    let large = runtime.counter("loh-size").map_or(0.0, crate::signs::Values::last);
    let large_bytes = large.max(runtime.heap.as_ref().map_or(0.0, |heap| heap.large_bytes as f64));
    let heap_bytes = runtime.heap_bytes().unwrap_or(0.0).max(large_bytes);
    if large_bytes < MIN_LARGE as f64 || percent < HOLES || large_bytes < heap_bytes * LARGE_SHARE / 100.0 {
        return found;
    }
    let sign = Sign::Holes { percent, large_bytes, heap_bytes };
    vec![Verdict::of_sign("loh-fragmentation", (Severity::Warning, Confidence::Medium), sign, COST)]
}
