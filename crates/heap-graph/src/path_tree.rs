//! The whole heap as a tree: each object at the place where the shortest way from the roots leads to it.
//!
//! ```text
//!  static Shop.all            0 objects
//!  └─ List<Order>             1
//!     └─ Order[]              1
//!        └─ Order         9,998
//!           └─ Byte[]     9,998
//! ```
//! Places are merged as in [`shapes_to`](crate::shapes_to): by root and by the types passed.

use crate::dominators::Totals;
use crate::graph::HeapGraph;
use crate::ids::{NONE, NodeId, RootId, TypeId, as_index};
use crate::path_shapes::{Trie, place};
use crate::paths::ShortestPaths;

/// What stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum At {
    /// A root, where a way begins.
    Root(RootId),
    /// Objects of a type.
    Type(TypeId),
}

/// A place of a [`PathTree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreePlace {
    /// The place before it, by its index; none for a root. It comes earlier in the list.
    pub above: Option<usize>,
    /// What stands there.
    pub at: At,
    /// Whether the way may pass here again.
    pub repeats: bool,
    /// The objects there.
    pub own: Totals,
    /// The bytes of these objects and of all below them.
    pub with_below: u64,
    /// One of the objects there; none for a root.
    pub example: Option<NodeId>,
}

/// Every reachable object at its place.
#[derive(Debug, Clone, Default)]
pub struct PathTree {
    /// The places, each after the one above it.
    pub places: Vec<TreePlace>,
}

impl PathTree {
    /// Walks over the heap once. Takes 4 bytes per object while it works, and some 100 per place.
    pub fn of(graph: &HeapGraph, paths: &ShortestPaths) -> PathTree {
        let mut trie = Trie::default();
        let mut place_of = vec![0; graph.node_count()];
        let mut open = Vec::new();
        let mut totals: Vec<(Totals, Option<NodeId>)> = Vec::new();
        for node in graph.nodes() {
            let Some(at) = place(graph, paths, &mut trie, &mut place_of, &mut open, node) else { continue };
            totals.resize(trie.places.len(), (Totals::default(), None));
            let (own, example) = &mut totals[as_index(at)];
            own.add(graph.size(node));
            example.get_or_insert(node);
        }
        totals.resize(trie.places.len(), (Totals::default(), None));
        let mut places: Vec<TreePlace> = trie
            .places
            .iter()
            .zip(totals)
            .map(|(place, (own, example))| TreePlace {
                above: (place.before != NONE).then(|| as_index(place.before)),
                at: match place.before {
                    NONE => At::Root(RootId(place.what)),
                    _ => At::Type(TypeId(place.what)),
                },
                repeats: place.repeats,
                own,
                with_below: own.bytes,
                example,
            })
            .collect();
        for index in (0..places.len()).rev() {
            if let Some(above) = places[index].above {
                places[above].with_below = places[above].with_below.saturating_add(places[index].with_below);
            }
        }
        PathTree { places }
    }
}
