//! The shortest way from the roots to each object.

use crate::graph::HeapGraph;
use crate::ids::{FieldId, NONE, NodeId, RootId, as_index, as_u32};
use crate::vertices::{Holder, Numbering};

/// One shortest path from a root to every reachable object: 4 bytes per object (8 when fields are known).
///
/// Roots with a name win over those without, and static fields over stack and handles, when the paths are of
/// the same length: they say more.
#[derive(Debug)]
pub struct ShortestPaths {
    numbering: Numbering,
    /// By object: the object or root before it on the path.
    before: Vec<u32>,
    /// By object: the field of the one before it; empty when the graph knows no fields.
    field: Vec<u32>,
}

/// One object on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathStep {
    /// The object.
    pub node: NodeId,
    /// The field of the object before it that refers to it, when known.
    pub field: Option<FieldId>,
}

impl ShortestPaths {
    /// Finds the paths: one walk in breadth.
    pub fn of(graph: &HeapGraph) -> ShortestPaths {
        let numbering = Numbering::of(graph);
        let mut before = vec![NONE; graph.node_count()];
        let with_fields = !graph.fields.of_edge.is_empty();
        let mut field = vec![NONE; if with_fields { graph.node_count() } else { 0 }];
        let mut queue: Vec<u32> = Vec::new();
        // Roots are ordered by kind, static fields first.
        for (named, (id, root)) in
            [true, false].iter().flat_map(|named| graph.roots().map(move |r| (named, r)))
        {
            if root.name.is_some() != *named {
                continue;
            }
            for &target in root.targets {
                if before[as_index(target)] == NONE {
                    before[as_index(target)] = as_u32(numbering.root(id));
                    queue.push(target);
                }
            }
        }
        // Two lists in turn, so that no more is held than the two levels at work.
        let mut next = Vec::new();
        while !queue.is_empty() {
            for &node in &queue {
                for edge in graph.edges_of(as_index(node)) {
                    let target = as_index(graph.targets[edge]);
                    if before[target] == NONE {
                        before[target] = node;
                        if with_fields {
                            field[target] = graph.fields.of_edge[edge];
                        }
                        next.push(as_u32(target));
                    }
                }
            }
            std::mem::swap(&mut queue, &mut next);
            next.clear();
        }
        ShortestPaths { numbering, before, field }
    }

    /// The root of the path to an object and the objects on it, from the root's own to the object itself.
    /// `None` for garbage.
    pub fn path(&self, node: NodeId) -> Option<(RootId, Vec<PathStep>)> {
        let mut steps = Vec::new();
        let mut at = node;
        loop {
            steps.push(PathStep { node: at, field: self.field_to(at) });
            match self.holder(at)? {
                Holder::Node(above) => at = above,
                Holder::Root(root) => {
                    steps.reverse();
                    return Some((root, steps));
                }
                Holder::Kind(_) | Holder::AllRoots => return None,
            }
        }
    }

    /// What lies before an object on its path: a root or another object; `None` for garbage.
    pub fn holder(&self, node: NodeId) -> Option<Holder> {
        self.numbering.holder(self.before[node.index()])
    }

    pub(crate) fn field_to(&self, node: NodeId) -> Option<FieldId> {
        self.field.get(node.index()).copied().filter(|&field| field != NONE).map(FieldId)
    }

    /// Bytes of memory that the paths take.
    pub fn memory(&self) -> u64 {
        (self.before.len() as u64 + self.field.len() as u64) * 4
    }
}
