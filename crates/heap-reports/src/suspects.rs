//! What much of the heap hangs on.
//!
//! ```text
//!  static Shop.all > List<Order> > Order[]  --holds-->  18,735 Order, 40 MB       <- the array is the suspect
//! ```
//! Down the tree of dominators from the roots, as long as nearly everything passes on to one object; where it spreads
//! out, things have piled up.

use std::collections::HashMap;

use heap_graph::{Holder, NodeId, RootId, ShapeStep, Totals, TypeId, shapes_to};

use crate::look::Look;

/// A suspect holds at least this share of what is alive, in per cent...
const LEAST_SHARE: u64 = 20;
/// ...and at least so many bytes: every program has a few tables.
const LEAST_BYTES: u64 = 5_000_000;
/// Most objects that are looked at closely.
const MOST_LOOKED_AT: usize = 16;
/// An object that passes on at least this share to one other is on the way, not the place.
const PASSED_ON: u64 = 50;

/// An object that much of the heap hangs on.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// The object.
    pub node: NodeId,
    /// Its type.
    pub type_id: TypeId,
    /// The bytes that would go with it.
    pub retained: u64,
    /// What it holds most of: the type, how many, and the bytes that would go with them.
    pub holds: Option<(TypeId, Totals)>,
    /// The shortest way from a root.
    pub path: Option<(RootId, Vec<ShapeStep>)>,
}

/// The suspects, the largest first; no more than `limit`.
#[must_use]
pub fn suspects(look: &Look, limit: usize) -> Vec<Suspect> {
    let least = (look.live_bytes() / 100 * LEAST_SHARE).max(LEAST_BYTES);
    let retained = |node: NodeId| look.dominators.retained(node);
    // By object: its largest child, plus one. Zeros cost memory only where something is written.
    let mut largest = vec![0_u32; look.graph.node_count()];
    let mut big: Vec<NodeId> = Vec::new();
    let mut tops: Vec<NodeId> = Vec::new();
    for node in look.graph.nodes().filter(|&node| retained(node) >= least) {
        big.push(node);
        match look.dominators.dominator(node) {
            Some(Holder::Node(above)) => {
                let slot = &mut largest[above.index()];
                let best = child_of(*slot, &big).map_or(0, retained);
                if retained(node) > best {
                    *slot = u32::try_from(big.len()).unwrap_or(u32::MAX);
                }
            }
            _ => tops.push(node),
        }
    }
    let spreads = |node: NodeId| {
        let child = child_of(largest[node.index()], &big);
        child.is_none_or(|child| retained(child) / 100 * 100 < retained(node) / 100 * PASSED_ON)
    };
    let mut found: Vec<NodeId> = big.iter().copied().filter(|&node| spreads(node)).collect();
    // In a long list every link passes on nearly everything, until too little is left: then its head is the place.
    found.extend(tops.into_iter().filter(|&top| !spreads(top) && is_list(look, top, &largest, &big)));
    found.sort_by_key(|&node| (std::cmp::Reverse(retained(node)), node));
    found.dedup();
    found.truncate(MOST_LOOKED_AT);
    let holds = contents(look, &found);
    let mut told: Vec<Suspect> = Vec::new();
    for node in found {
        // A part of a list that is told of already.
        let is_part = told.iter().any(|suspect| {
            suspect.holds.is_some_and(|(id, _)| id == look.graph.type_of(node))
                && is_below(look, node, suspect.node)
        });
        if !is_part && told.len() < limit {
            told.push(suspect(look, node, &holds));
        }
    }
    told
}

/// Whether one object dominates another.
fn is_below(look: &Look, node: NodeId, above: NodeId) -> bool {
    let mut at = node;
    while let Some(Holder::Node(next)) = look.dominators.dominator(at) {
        if next == above {
            return true;
        }
        at = next;
    }
    false
}

fn child_of(slot: u32, big: &[NodeId]) -> Option<NodeId> {
    (slot as usize).checked_sub(1).and_then(|at| big.get(at)).copied()
}

/// Whether the largest children go on and on with the same type.
fn is_list(look: &Look, top: NodeId, largest: &[u32], big: &[NodeId]) -> bool {
    /// Links that make a list.
    const LONG: usize = 32;
    let (mut at, mut links) = (top, 0);
    while let Some(child) = child_of(largest[at.index()], big) {
        links = if look.graph.type_of(child) == look.graph.type_of(at) { links + 1 } else { 0 };
        if links >= LONG {
            return true;
        }
        at = child;
    }
    false
}

/// By suspect and type: what it dominates directly.
fn contents(look: &Look, found: &[NodeId]) -> HashMap<NodeId, HashMap<TypeId, Totals>> {
    let mut holds: HashMap<NodeId, HashMap<TypeId, Totals>> =
        found.iter().map(|&node| (node, HashMap::new())).collect();
    if holds.is_empty() {
        return holds;
    }
    for node in look.graph.nodes() {
        if let Some(Holder::Node(above)) = look.dominators.dominator(node)
            && let Some(types) = holds.get_mut(&above)
        {
            let totals = types.entry(look.graph.type_of(node)).or_default();
            totals.objects += 1;
            totals.bytes = totals.bytes.saturating_add(look.dominators.retained(node));
        }
    }
    holds
}

/// How many lists may begin at one object.
const MOST_HEADS: u64 = 8;

/// How many objects of a type an object dominates.
fn below(look: &Look, node: NodeId, id: TypeId) -> u64 {
    /// By object: whether it hangs on the one, once that is known.
    #[derive(Clone, Copy, PartialEq)]
    enum Hangs {
        Unknown,
        Yes,
        No,
    }
    let mut known = vec![Hangs::Unknown; look.graph.node_count()];
    known[node.index()] = Hangs::Yes;
    let mut count = 0;
    let mut way: Vec<NodeId> = Vec::new();
    for member in look.graph.nodes().filter(|&member| member != node && look.graph.type_of(member) == id) {
        let mut at = member;
        let answer = loop {
            if known[at.index()] != Hangs::Unknown {
                break known[at.index()];
            }
            way.push(at);
            match look.dominators.dominator(at) {
                Some(Holder::Node(above)) => at = above,
                _ => break Hangs::No,
            }
        };
        way.drain(..).for_each(|passed| known[passed.index()] = answer);
        count += u64::from(answer == Hangs::Yes);
    }
    count
}

fn suspect(look: &Look, node: NodeId, holds: &HashMap<NodeId, HashMap<TypeId, Totals>>) -> Suspect {
    let most = holds.get(&node).and_then(|types| {
        types.iter().map(|(&id, &totals)| (id, totals)).max_by_key(|(id, totals)| (totals.bytes, *id))
    });
    // In a list, only the first link hangs on it directly.
    let most = most.map(|(id, totals)| match totals.objects {
        0..=MOST_HEADS => (id, Totals { objects: below(look, node, id), ..totals }),
        _ => (id, totals),
    });
    let path = shapes_to(&look.graph, &look.paths, [node], 1).shapes.into_iter().next();
    Suspect {
        node,
        type_id: look.graph.type_of(node),
        retained: look.dominators.retained(node),
        holds: most,
        path: path.map(|shape| (shape.root, shape.steps)),
    }
}
