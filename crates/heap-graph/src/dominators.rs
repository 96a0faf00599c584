//! Who alone keeps what alive.
//!
//! An object A dominates B when every path from the roots to B goes through A: without A, B would be garbage.
//! The bytes of all that A dominates are its retained size.
//!
//! The tree of immediate dominators is found with semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators
//! and Related Problems", 2005, section 2.2): semidominators by path compression in the reverse order of a
//! depth-first walk, then nearest common ancestors in forward order. No step recurses.

use std::hint::black_box;

use crate::depth_first::{DepthFirst, Referrers, walk};
use crate::graph::HeapGraph;
use crate::ids::{NONE, NodeId, RootId, TypeId, as_index, as_u32};
use crate::retained::{by_type, by_vertex};
use crate::roots::RootKind;
use crate::vertices::{Holder, Numbering, Vertices};

/// The dominator tree of a graph with its retained sizes: 12 bytes per object.
///
/// While it is computed it takes up to 28 bytes more per object and 4 per reference, given back at the end.
#[derive(Debug)]
pub struct Dominators {
    numbering: Numbering,
    /// By vertex: the vertex that dominates it, [`NONE`] when unreachable.
    dominator: Vec<u32>,
    /// By vertex.
    retained: Vec<u64>,
    /// By type.
    retained_by_type: Vec<u64>,
    reachable: Totals,
    garbage: Totals,
}

/// A number of objects and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Objects.
    pub objects: u64,
    /// The bytes of the objects themselves.
    pub bytes: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Dominators {
    /// The dominators of a graph. Time grows with objects and references, nearly linearly.
    pub fn of(graph: &HeapGraph) -> Dominators {
        let vertices = Vertices::of(graph);
        let numbering = vertices.numbering;
        let (walk, referrers) = walk(&vertices);
        let DepthFirst { vertex, parent } = walk;
        let by_rank = immediate(parent, referrers);
        let retained = by_vertex(&vertices, &vertex, &by_rank);
        let retained_by_type = by_type(&vertices, &vertex, &by_rank, &retained);
        let mut dominator = vec![NONE; numbering.count()];
        for (&vertex_here, &above) in vertex.iter().zip(&by_rank).skip(1) {
            dominator[as_index(vertex_here)] = vertex[as_index(above)];
        }
        let (mut reachable, mut garbage) = (Totals::default(), Totals::default());
        for (size, &above) in graph.sizes.iter().zip(&dominator) {
            if above == NONE { garbage.add(size) } else { reachable.add(size) }
        }
        Dominators { numbering, dominator, retained, retained_by_type, reachable, garbage }
    }

    /// Whether some root leads to an object.
    pub fn is_reachable(&self, node: NodeId) -> bool {
        self.dominator[node.index()] != NONE
    }

    /// What alone keeps an object alive, next to it; `None` for garbage.
    pub fn dominator(&self, node: NodeId) -> Option<Holder> {
        self.numbering.holder(self.dominator[node.index()])
    }

    /// The bytes that would go with an object, itself included; 0 for garbage.
    pub fn retained(&self, node: NodeId) -> u64 {
        self.retained[node.index()]
    }

    /// The bytes that would go with the objects of a type one by one: each object's retained size, except where
    /// the object is itself dominated by one of the same type, so that a list of nodes counts once.
    ///
    /// What only several objects of the type keep alive together is not in it; see
    /// [`retained_by_all_of_type`](crate::retained_by_all_of_type).
    pub fn retained_by_type(&self, id: TypeId) -> u64 {
        self.retained_by_type[id.index()]
    }

    /// The bytes that a root alone keeps alive.
    pub fn retained_by_root(&self, id: RootId) -> u64 {
        self.retained[self.numbering.root(id)]
    }

    /// The bytes that only roots of a kind keep alive, all of them together.
    pub fn retained_by_kind(&self, kind: RootKind) -> u64 {
        self.retained[self.numbering.kind(kind)]
    }

    /// What the roots keep alive.
    pub fn reachable(&self) -> Totals {
        self.reachable
    }

    /// What no root leads to.
    pub fn garbage(&self) -> Totals {
        self.garbage
    }

    /// Bytes of memory that the tree takes.
    pub fn memory(&self) -> u64 {
        (self.dominator.len() as u64) * 4 + (self.retained.len() as u64) * 8
    }
}

/// How many references ahead a link is touched.
const AHEAD: usize = 16;

/// By rank: the rank of the immediate dominator.
fn immediate(parent: Vec<u32>, referrers: Referrers) -> Vec<u32> {
    let mut forest = Forest::new(&parent);
    let mut semi: Vec<u32> = vec![0; parent.len()];
    let mut touched = 0;
    for here in (1..parent.len()).rev() {
        let mut least = parent[here];
        for at in referrers.positions(here).rev() {
            let from = referrers.ranks[at];
            // The links lie anywhere in memory: this one will be needed soon, and has arrived by then.
            let soon = referrers.ranks[at.saturating_sub(AHEAD)];
            touched ^= forest.links[as_index(soon)].up;
            let candidate = if as_index(from) < here { from } else { forest.least_above(from, as_u32(here)) };
            least = least.min(candidate);
        }
        semi[here] = least;
        forest.links[here].least = least;
    }
    black_box(touched);
    drop((forest, referrers));
    let mut dominator = parent;
    for here in 1..dominator.len() {
        let mut above = dominator[here];
        while above > semi[here] {
            above = dominator[as_index(above)];
        }
        dominator[here] = above;
    }
    dominator
}

/// The walk's tree from its leaves up to the rank at work, with compressed paths.
struct Forest {
    links: Vec<Link>,
    path: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Link {
    up: u32,
    /// The least semidominator from here up to, and without, `up`.
    least: u32,
}

impl Forest {
    fn new(parent: &[u32]) -> Forest {
        let links = (0..).zip(parent).map(|(rank, &up)| Link { up, least: rank }).collect();
        Forest { links, path: Vec::new() }
    }

    /// The least semidominator on the path from a rank up to, and without, `end` and all before it.
    #[inline]
    fn least_above(&mut self, from: u32, end: u32) -> u32 {
        let mut at = from;
        loop {
            let up = self.links[as_index(at)].up;
            if up <= end {
                break;
            }
            self.path.push(at);
            at = up;
        }
        let mut top = self.links[as_index(at)];
        while let Some(below) = self.path.pop() {
            let link = &mut self.links[as_index(below)];
            link.least = link.least.min(top.least);
            link.up = top.up;
            top = *link;
        }
        self.links[as_index(from)].least
    }
}
