//! Paths to many objects, merged where they look the same.
//!
//! ```text
//!  static Cache.items > List<Order> > Order[] > Order           9,998 objects
//!  static Log.first > Entry* > Order                                2 objects
//! ```
//! Two paths have the same shape when they start at the same root and pass the same types by the same fields.
//! A type that comes again within the last few steps continues the earlier step, drawn with a star, so that the
//! millionth link of a list has the same shape as the second.

use std::collections::HashMap;

use crate::dominators::Totals;
use crate::graph::HeapGraph;
use crate::ids::{FieldId, NONE, NodeId, RootId, TypeId, as_index, as_u32};
use crate::paths::ShortestPaths;
use crate::vertices::Holder;

/// How far back a step looks for itself: enough for lists, trees, dictionaries and chains of continuations.
const LOOK_BACK: usize = 8;

/// A way from a root to objects of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathShape {
    /// Where it starts.
    pub root: RootId,
    /// The types on it, the last is that of the objects.
    pub steps: Vec<ShapeStep>,
    /// How many of the objects are reached this way.
    pub objects: u64,
    /// The bytes of these objects themselves.
    pub bytes: u64,
    /// One of these objects.
    pub example: NodeId,
}

/// A step of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeStep {
    /// The type there.
    pub type_id: TypeId,
    /// The field that leads to it, when known.
    pub field: Option<FieldId>,
    /// Whether the path may pass here again.
    pub repeats: bool,
}

/// The shapes of paths to some objects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathShapes {
    /// The shapes that most objects have, the most first.
    pub shapes: Vec<PathShape>,
    /// The objects of all other shapes.
    pub others: Totals,
    /// The objects that no root reaches.
    pub garbage: Totals,
}

/// The shapes of the shortest paths to all objects of a type; no more than `limit` of them. Takes 4 bytes per
/// object on these paths while it works.
pub fn shapes_to_type(graph: &HeapGraph, paths: &ShortestPaths, id: TypeId, limit: usize) -> PathShapes {
    let members = graph.nodes().filter(|&node| graph.type_of(node) == id);
    shapes_to(graph, paths, members, limit)
}

/// The shapes of the shortest paths to some objects; no more than `limit` of them.
pub fn shapes_to(
    graph: &HeapGraph,
    paths: &ShortestPaths,
    objects: impl IntoIterator<Item = NodeId>,
    limit: usize,
) -> PathShapes {
    let mut result = PathShapes::default();
    let mut trie = Trie::default();
    let mut found: HashMap<u32, (Totals, NodeId)> = HashMap::new();
    let mut place_of = vec![UNKNOWN; graph.node_count()];
    let mut open: Vec<NodeId> = Vec::new();
    for node in objects {
        let totals = match place(graph, paths, &mut trie, &mut place_of, &mut open, node) {
            Some(place) => &mut found.entry(place).or_insert((Totals::default(), node)).0,
            None => &mut result.garbage,
        };
        totals.add(graph.size(node));
    }
    let mut found: Vec<(u32, (Totals, NodeId))> = found.into_iter().collect();
    found.sort_by(|(_, (a, first)), (_, (b, second))| {
        (b.objects, b.bytes).cmp(&(a.objects, a.bytes)).then(first.cmp(second))
    });
    for (_, (totals, _)) in found.iter().skip(limit) {
        result.others.objects += totals.objects;
        result.others.bytes = result.others.bytes.saturating_add(totals.bytes);
    }
    for &(place, (Totals { objects, bytes }, example)) in found.iter().take(limit) {
        let (root, steps) = trie.steps(place);
        result.shapes.push(PathShape { root, steps, objects, bytes, example });
    }
    result
}

/// A place that is not known yet. 0, because a table of zeros costs memory only where it is written.
const UNKNOWN: u32 = 0;

/// The place of an object in the trie: walks up to the nearest object whose place is known, then down again.
pub(crate) fn place(
    graph: &HeapGraph,
    paths: &ShortestPaths,
    trie: &mut Trie,
    place_of: &mut [u32],
    open: &mut Vec<NodeId>,
    node: NodeId,
) -> Option<u32> {
    open.clear();
    let mut at = node;
    let mut place = loop {
        let known = place_of[at.index()];
        if known != UNKNOWN {
            break known - 1;
        }
        open.push(at);
        match paths.holder(at)? {
            Holder::Node(above) => at = above,
            Holder::Root(root) => break trie.root(root),
            Holder::Kind(_) | Holder::AllRoots => return None,
        }
    };
    while let Some(next) = open.pop() {
        place = trie.step(place, graph.type_of(next), paths.field_to(next));
        place_of[next.index()] = place + 1;
    }
    Some(place)
}

/// All shapes, sharing their beginnings.
#[derive(Debug, Default)]
pub(crate) struct Trie {
    pub(crate) places: Vec<Place>,
    known: HashMap<(u32, u32, u32), u32>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// The place before, [`NONE`] for a root.
    pub(crate) before: u32,
    /// The type, or the root.
    pub(crate) what: u32,
    field: u32,
    pub(crate) repeats: bool,
}

impl Trie {
    fn root(&mut self, root: RootId) -> u32 {
        self.place(NONE, root.0, NONE)
    }

    fn step(&mut self, from: u32, its_type: TypeId, field: Option<FieldId>) -> u32 {
        let field = field.map_or(NONE, |field| field.0);
        let mut back = from;
        for _ in 0..LOOK_BACK {
            let place = &mut self.places[as_index(back)];
            if place.before == NONE {
                break;
            }
            // The first of a list is held by another field than the rest, so the type alone decides.
            if place.what == its_type.0 {
                place.repeats = true;
                return back;
            }
            back = place.before;
        }
        self.place(from, its_type.0, field)
    }

    fn place(&mut self, before: u32, what: u32, field: u32) -> u32 {
        let next = as_u32(self.places.len());
        let place = *self.known.entry((before, what, field)).or_insert(next);
        if place == next {
            self.places.push(Place { before, what, field, repeats: false });
        }
        place
    }

    fn steps(&self, place: u32) -> (RootId, Vec<ShapeStep>) {
        let mut steps = Vec::new();
        let mut at = self.places[as_index(place)];
        while at.before != NONE {
            steps.push(ShapeStep {
                type_id: TypeId(at.what),
                field: Some(at.field).filter(|&field| field != NONE).map(FieldId),
                repeats: at.repeats,
            });
            at = self.places[as_index(at.before)];
        }
        steps.reverse();
        (RootId(at.what), steps)
    }
}
