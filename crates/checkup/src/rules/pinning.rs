//! `pinning`: so many objects must not move that the collector cannot close the gaps between them.
//!
//! For: pinned objects that each collection meets. Against: some dozens, which every program that does I/O has.

use model::{Confidence, Finding, Severity};

use super::{Case, Verdict};

/// Pinned objects from which they are many. A server pins a few for each connection, and newer ones use the pinned object heap.
const MANY: u32 = 1_000;
/// Memory, and slower collections.
const COST: f64 = 8.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let found = case.adopt("pinning", COST);
    let heap = case.signs.told().and_then(|told| told.heap.as_ref());
    let Some(heap) = heap.filter(|heap| found.is_empty() && heap.pinned_objects >= MANY) else {
        return found;
    };
    let title = format!("{} pinned objects keep the collector from closing gaps", heap.pinned_objects);
    let finding = Finding::new("pinning", Severity::Warning, Confidence::Medium, title)
        .evidence("Pinned objects met by the last collection", heap.pinned_objects.to_string())
        .evidence("Handles", heap.handles.to_string())
        .advice("Pin for as short as possible, or allocate such buffers once with GC.AllocateArray(pinned: true).");
    vec![Verdict { finding, cost: COST }]
}
