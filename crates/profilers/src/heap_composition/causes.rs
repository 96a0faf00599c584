//! Why there are holes, from the objects of the heap: what is pinned, and what lies between the holes.

use std::collections::HashMap;

use heap_graph::{Generation, HeapGraph, NodeId, RootKind, TypeId};

/// The runtime's own tables of static fields, which it pins or puts in the large object heap.
const STATICS_TABLE: &str = "System.Object[]";
/// Smaller gaps are padding, or the remains of an allocation.
const LEAST_HOLE: u64 = 64;

/// Pinned objects of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pins {
    pub(super) type_name: String,
    pub(super) by: RootKind,
    pub(super) objects: u64,
    pub(super) bytes: u64,
    /// The size that most of them have.
    pub(super) usual_bytes: u64,
    /// By generation: 0, 1, 2, large, pinned, frozen. Objects of the pinned heap do no harm.
    pub(super) generations: [u64; Generation::ALL.len()],
    /// The type that refers to most of them, and to how many; none if only handles do.
    pub(super) holder: Option<(String, u64)>,
}

impl Pins {
    /// Those that are in the collector's way.
    pub(super) fn in_the_way(&self) -> u64 {
        self.generations[..3].iter().sum()
    }
}

/// Gaps between objects of one generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Holes {
    pub(super) objects: u64,
    pub(super) object_bytes: u64,
    pub(super) holes: u64,
    pub(super) hole_bytes: u64,
    /// The size that half of the objects do not exceed.
    pub(super) median_object: u64,
    /// Holes that are smaller, and their bytes.
    pub(super) small_holes: u64,
    pub(super) too_small: u64,
    /// Bytes of holes right beside a pinned object.
    pub(super) beside_pins: u64,
    /// Types of the objects between the holes, the most bytes first: name, objects, bytes.
    pub(super) types: Vec<(String, u64, u64)>,
}

/// What the objects say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Causes {
    /// The most objects that are in the way first.
    pub(super) pins: Vec<Pins>,
    /// By generation, where the runtime told where generations lie.
    pub(super) holes: HashMap<Generation, Holes>,
    /// Objects and their bytes by generation.
    pub(super) objects: HashMap<Generation, (u64, u64)>,
}

impl Causes {
    pub(super) fn of(graph: &HeapGraph) -> Causes {
        let pinned = pinned(graph);
        let mut causes = Causes { pins: pins(graph, &pinned), ..Causes::default() };
        if graph.generations().is_empty() {
            return causes;
        }
        let mut members: HashMap<Generation, Vec<NodeId>> = HashMap::new();
        for node in graph.nodes() {
            if let Some(generation) = graph.generation(node) {
                members.entry(generation).or_default().push(node);
            }
        }
        for (generation, mut nodes) in members {
            let bytes = nodes.iter().map(|&node| graph.size(node)).sum();
            causes.objects.insert(generation, (nodes.len() as u64, bytes));
            if generation != Generation::Frozen {
                causes.holes.insert(generation, holes(graph, generation, &mut nodes, &pinned));
            }
        }
        causes
    }
}

/// The pinned objects, by what pins them. Tables of static fields are the runtime's.
fn pinned(graph: &HeapGraph) -> HashMap<NodeId, RootKind> {
    let mut pinned = HashMap::new();
    for (_, root) in graph.roots() {
        if matches!(root.kind, RootKind::PinnedHandle | RootKind::PinnedLocal) {
            for node in root.targets() {
                if *graph.type_info(graph.type_of(node)).name != *STATICS_TABLE {
                    pinned.insert(node, root.kind);
                }
            }
        }
    }
    pinned
}

fn pins(graph: &HeapGraph, pinned: &HashMap<NodeId, RootKind>) -> Vec<Pins> {
    let mut groups: HashMap<(TypeId, RootKind), Pins> = HashMap::new();
    let mut sizes: HashMap<(TypeId, RootKind, u64), u64> = HashMap::new();
    for (&node, &by) in pinned {
        let id = graph.type_of(node);
        let group = groups.entry((id, by)).or_insert_with(|| Pins {
            type_name: graph.type_info(id).name.to_string(),
            by,
            objects: 0,
            bytes: 0,
            usual_bytes: 0,
            generations: [0; Generation::ALL.len()],
            holder: None,
        });
        group.objects += 1;
        group.bytes += graph.size(node);
        *sizes.entry((id, by, graph.size(node))).or_default() += 1;
        if let Some(generation) = graph.generation(node) {
            group.generations[generation as usize] += 1;
        }
    }
    let mut sizes: Vec<_> = sizes.into_iter().map(|((id, by, bytes), count)| (count, bytes, id, by)).collect();
    sizes.sort_unstable();
    // The last word is that of the most frequent size.
    for (_, bytes, id, by) in sizes {
        if let Some(group) = groups.get_mut(&(id, by)) {
            group.usual_bytes = bytes;
        }
    }
    for (key, (holder, count)) in holders(graph, pinned) {
        if let Some(group) = groups.get_mut(&key) {
            group.holder = Some((graph.type_info(holder).name.to_string(), count));
        }
    }
    let mut pins: Vec<Pins> = groups.into_values().collect();
    pins.sort_by(|a, b| {
        let key = |pins: &Pins| (pins.in_the_way(), pins.objects, pins.bytes);
        key(b).cmp(&key(a)).then_with(|| a.type_name.cmp(&b.type_name))
    });
    pins
}

/// By type of pinned objects and what pins them: the type that refers to most of them.
fn holders(graph: &HeapGraph, pinned: &HashMap<NodeId, RootKind>) -> HashMap<(TypeId, RootKind), (TypeId, u64)> {
    let mut counts: HashMap<((TypeId, RootKind), TypeId), u64> = HashMap::new();
    if pinned.is_empty() {
        return HashMap::new();
    }
    for node in graph.nodes() {
        for target in graph.references(node) {
            if let Some(&by) = pinned.get(&target) {
                *counts.entry(((graph.type_of(target), by), graph.type_of(node))).or_default() += 1;
            }
        }
    }
    let mut most: HashMap<(TypeId, RootKind), (TypeId, u64)> = HashMap::new();
    for ((key, holder), count) in counts {
        let best = most.entry(key).or_insert((holder, count));
        if (count, holder) > (best.1, best.0) {
            *best = (holder, count);
        }
    }
    most
}

/// The gaps between the objects of a generation, within each of its ranges.
fn holes(
    graph: &HeapGraph,
    generation: Generation,
    nodes: &mut [NodeId],
    pinned: &HashMap<NodeId, RootKind>,
) -> Holes {
    nodes.sort_unstable_by_key(|&node| graph.address(node));
    let mut sizes: Vec<u64> = nodes.iter().map(|&node| graph.size(node)).collect();
    sizes.sort_unstable();
    let median_object = sizes.get(sizes.len() / 2).copied().unwrap_or(0);
    let mut found = Holes {
        objects: nodes.len() as u64,
        object_bytes: sizes.iter().sum(),
        median_object,
        types: types(graph, nodes),
        ..Holes::default()
    };
    let mut next = nodes.iter().copied().peekable();
    for range in graph.generations().ranges().iter().filter(|range| range.generation == generation) {
        let mut end = range.start.0;
        let mut pinned_before = false;
        while let Some(node) = next.next_if(|&node| graph.address(node) < range.end) {
            let start = graph.address(node).0;
            let is_pinned = pinned.contains_key(&node);
            found.hole(start.saturating_sub(end), pinned_before || is_pinned);
            // Objects begin at multiples of 8.
            end = end.max(start.saturating_add(graph.size(node).next_multiple_of(8)));
            pinned_before = is_pinned;
        }
        // Young generations end where the next object will be.
        if !matches!(generation, Generation::Gen0) {
            found.hole(range.end.0.saturating_sub(end), pinned_before);
        }
    }
    found
}

impl Holes {
    fn hole(&mut self, bytes: u64, beside_pin: bool) {
        if bytes < LEAST_HOLE {
            return;
        }
        self.holes += 1;
        self.hole_bytes += bytes;
        if bytes < self.median_object {
            self.small_holes += 1;
            self.too_small += bytes;
        }
        if beside_pin {
            self.beside_pins += bytes;
        }
    }
}

fn types(graph: &HeapGraph, nodes: &[NodeId]) -> Vec<(String, u64, u64)> {
    let mut totals: HashMap<TypeId, (u64, u64)> = HashMap::new();
    for &node in nodes {
        let total = totals.entry(graph.type_of(node)).or_default();
        total.0 += 1;
        total.1 += graph.size(node);
    }
    let mut types: Vec<_> = totals
        .into_iter()
        .map(|(id, (objects, bytes))| (graph.type_info(id).name.to_string(), objects, bytes))
        .collect();
    types.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
    types.truncate(8);
    types
}
