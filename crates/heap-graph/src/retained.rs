//! Sums along the dominator tree.

use crate::graph::HeapGraph;
use crate::ids::{NONE, TypeId, as_index, as_u32};
use crate::vertices::Vertices;

/// By vertex: its bytes and those of all it dominates. `vertex` and `dominator` go by rank.
pub(crate) fn by_vertex(vertices: &Vertices<'_>, vertex: &[u32], dominator: &[u32]) -> Vec<u64> {
    let mut retained = vec![0_u64; vertices.numbering.count()];
    for rank in (0..vertex.len()).rev() {
        let here = as_index(vertex[rank]);
        retained[here] = retained[here].saturating_add(vertices.size(here));
        if rank > 0 {
            let above = as_index(vertex[as_index(dominator[rank])]);
            retained[above] = retained[above].saturating_add(retained[here]);
        }
    }
    retained
}

/// By type: the retained bytes of those objects that no other object of the type dominates.
pub(crate) fn by_type(
    vertices: &Vertices<'_>,
    vertex: &[u32],
    dominator: &[u32],
    retained: &[u64],
) -> Vec<u64> {
    let graph = vertices.graph;
    let mut sums = vec![0_u64; graph.types.len()];
    // How many objects of the type lie above the place of the walk.
    let mut open = vec![0_u32; graph.types.len()];
    let children = Children::of(dominator);
    let type_at = |rank: usize| graph.node_types.get(as_index(vertex[rank])).copied().map(as_index);
    let mut rank = 0;
    'walk: loop {
        if let Some(its_type) = type_at(rank) {
            if open[its_type] == 0 {
                let bytes = retained[as_index(vertex[rank])];
                sums[its_type] = sums[its_type].saturating_add(bytes);
            }
            open[its_type] += 1;
        }
        if let Some(child) = children.first(rank) {
            rank = child;
            continue;
        }
        loop {
            if let Some(its_type) = type_at(rank) {
                open[its_type] -= 1;
            }
            if rank == 0 {
                break 'walk;
            }
            if let Some(next) = children.next(rank) {
                rank = next;
                break;
            }
            rank = as_index(dominator[rank]);
        }
    }
    sums
}

/// The tree of dominators seen from above, by rank. The entry is nobody's child, so 0 says "none".
struct Children {
    links: Vec<(u32, u32)>,
}

impl Children {
    fn of(dominator: &[u32]) -> Children {
        let mut links = vec![(0_u32, 0_u32); dominator.len()];
        for rank in (1..dominator.len()).rev() {
            let above = as_index(dominator[rank]);
            links[rank].1 = links[above].0;
            links[above].0 = as_u32(rank);
        }
        Children { links }
    }

    fn first(&self, rank: usize) -> Option<usize> {
        Some(as_index(self.links[rank].0)).filter(|&rank| rank != 0)
    }

    fn next(&self, rank: usize) -> Option<usize> {
        Some(as_index(self.links[rank].1)).filter(|&rank| rank != 0)
    }
}

/// The bytes that would go with all objects of a type at once: what the roots reach, less what they reach
/// without passing an object of the type. One walk over the heap.
pub fn retained_by_all_of_type(graph: &HeapGraph, id: TypeId) -> u64 {
    let all = reached(graph, NONE);
    all.saturating_sub(reached(graph, id.0))
}

/// The bytes of what the roots reach without passing an object of a type.
fn reached(graph: &HeapGraph, without: u32) -> u64 {
    let mut seen = vec![false; graph.node_count()];
    let mut open: Vec<u32> = graph.roots().flat_map(|(_, root)| root.targets.iter().copied()).collect();
    let mut bytes = 0_u64;
    while let Some(node) = open.pop() {
        let node = as_index(node);
        if seen[node] || graph.node_types[node] == without {
            continue;
        }
        seen[node] = true;
        bytes = bytes.saturating_add(graph.sizes.get(node));
        open.extend(graph.targets_of(node).iter().filter(|&&target| !seen[as_index(target)]));
    }
    bytes
}
