//! Which objects contain handles: a `GCHandle` is a number, which the collector does not follow, but it stands somewhere.

use std::collections::HashMap;

use heap_graph::{HeapGraph, NodeId, TypeId};

use crate::heap::memory::{Memory, read_objects};

/// Larger objects are buffers.
const LARGEST: u64 = 4096;
/// Most bytes of objects that are looked at, which takes some tenths of a second.
const MOST_BYTES: u64 = 1 << 30;
/// A pinned handle has this bit set in its `GCHandle`.
const PINNED: u64 = 1;

/// The types of the objects that contain these handles, by their addresses.
pub(super) fn find<M: Memory>(
    graph: &HeapGraph,
    memory: &mut M,
    mut handles: HashMap<u64, Option<TypeId>>,
) -> HashMap<u64, Option<TypeId>> {
    let mut bytes = 0;
    let is_candidate: Vec<bool> = graph.types().map(|(_, info)| may_contain(&info.name)).collect();
    let mut objects: Vec<NodeId> = graph
        .nodes()
        .filter(|node| graph.size(*node) <= LARGEST)
        .filter(|node| is_candidate.get(graph.type_of(*node).index()).copied().unwrap_or(false))
        .take_while(|node| {
            bytes += graph.size(*node);
            bytes <= MOST_BYTES
        })
        .collect();
    objects.sort_unstable_by_key(|node| graph.address(*node));
    let look = |node: NodeId, object: &[u8]| {
        // The first word is the type.
        for word in object.as_chunks::<8>().0.iter().skip(1) {
            let word = u64::from_le_bytes(*word) & !PINNED;
            if let Some(place) = handles.get_mut(&word) {
                *place = Some(graph.type_of(node));
            }
        }
    };
    read_objects(graph, memory, &objects, look, |_, _| ());
    handles
}

/// Text and arrays of numbers hold none, or by chance.
fn may_contain(name: &str) -> bool {
    name != "System.String"
        && (!name.ends_with("[]") || name.ends_with("Handle[]") || name.ends_with("IntPtr[]"))
}
