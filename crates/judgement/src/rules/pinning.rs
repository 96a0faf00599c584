//! `pinning`: so many objects must not move that the collector cannot close the gaps between them.
//!
//! For: pinned objects that each collection meets. Against: some dozens, which every program that does I/O has.

use facts::{Confidence, Severity, Sign};

use crate::{Case, Verdict};

/// Pinned objects from which they are many. A server pins a few for each connection, and newer ones use the pinned object heap.
const MANY: u32 = 1_000;
/// Memory, and slower collections.
const COST: f64 = 8.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let found = case.adopt("pinning", COST);
    let heap = case.signs.runtime.as_ref().and_then(|runtime| runtime.heap.as_ref());
    let Some(heap) = heap.filter(|heap| found.is_empty() && heap.pinned_objects >= MANY) else {
        return found;
    };
    let sign = Sign::Pinned { objects: heap.pinned_objects, handles: heap.handles };
    vec![Verdict::of_sign("pinning", (Severity::Warning, Confidence::Medium), sign, COST)]
}
