//! Objects and roots as one graph with one entry, which is what dominators and paths are about.
//!
//! ```text
//!  entry --> kind of root --> root --> object --> object
//!  n+r+k        n+r..          n..       0..n
//! ```
//! Roots and kinds are vertices, so that the bytes each of them holds alone come out of the same computation.

use crate::graph::HeapGraph;
use crate::ids::{NONE, NodeId, RootId, as_index, as_u32};
use crate::roots::RootKind;

/// What a vertex stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holder {
    /// An object.
    Node(NodeId),
    /// A root.
    Root(RootId),
    /// All roots of a kind together: several of them reach what is held.
    Kind(RootKind),
    /// Roots of several kinds together.
    AllRoots,
}

/// The numbering of vertices; needs no memory of its own and fits any graph of the same size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbering {
    nodes: usize,
    roots: usize,
}

impl Numbering {
    pub(crate) fn of(graph: &HeapGraph) -> Numbering {
        Numbering { nodes: graph.node_count(), roots: graph.roots.len() }
    }

    pub(crate) fn root(self, id: RootId) -> usize {
        self.nodes + id.index()
    }

    pub(crate) fn kind(self, kind: RootKind) -> usize {
        self.nodes + self.roots + kind.index()
    }

    pub(crate) fn entry(self) -> usize {
        self.nodes + self.roots + RootKind::ALL.len()
    }

    pub(crate) fn count(self) -> usize {
        self.entry() + 1
    }

    pub(crate) fn holder(self, vertex: u32) -> Option<Holder> {
        let index = as_index(vertex);
        if vertex == NONE || index >= self.count() {
            return None;
        }
        if index < self.nodes {
            return Some(Holder::Node(NodeId(vertex)));
        }
        let root = index - self.nodes;
        if root < self.roots {
            return Some(Holder::Root(RootId::from_index(root)));
        }
        Some(RootKind::ALL.get(root - self.roots).map_or(Holder::AllRoots, |&kind| Holder::Kind(kind)))
    }
}

/// The graph with its roots as vertices.
#[derive(Debug)]
pub(crate) struct Vertices<'a> {
    pub(crate) graph: &'a HeapGraph,
    pub(crate) numbering: Numbering,
    /// What roots, kinds and the entry lead to.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl<'a> Vertices<'a> {
    pub(crate) fn of(graph: &'a HeapGraph) -> Vertices<'a> {
        let numbering = Numbering::of(graph);
        let mut starts = vec![0];
        let mut targets = Vec::with_capacity(graph.roots.edge_count() + graph.roots.len() + 16);
        let mut end_here = |targets: &Vec<u32>| starts.push(as_u32(targets.len()));
        for (_, root) in graph.roots() {
            targets.extend_from_slice(root.targets);
            end_here(&targets);
        }
        for kind in RootKind::ALL {
            let of_kind = graph.roots().filter(|(_, root)| root.kind == kind);
            targets.extend(of_kind.map(|(id, _)| as_u32(numbering.root(id))));
            end_here(&targets);
        }
        targets.extend(RootKind::ALL.map(|kind| as_u32(numbering.kind(kind))));
        end_here(&targets);
        Vertices { graph, numbering, starts, targets }
    }

    #[inline]
    pub(crate) fn successors(&self, vertex: usize) -> &[u32] {
        match vertex.checked_sub(self.numbering.nodes) {
            None => self.graph.targets_of(vertex),
            Some(at) => &self.targets[as_index(self.starts[at])..as_index(self.starts[at + 1])],
        }
    }

    /// The bytes of a vertex itself.
    #[inline]
    pub(crate) fn size(&self, vertex: usize) -> u64 {
        if vertex < self.numbering.nodes { self.graph.sizes.get(vertex) } else { 0 }
    }
}
