//! The shortest way from the roots to each object.

use crate::graph::HeapGraph;
use crate::ids::{FieldId, NONE, NodeId, RootId, as_index, as_u32};
use crate::roots::RootKind;
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
        ShortestPaths::in_turn(graph, &[&|_| true])
    }

    /// The same, but roots that last go first: static fields, then everything that is no local variable, then local
    /// variables. A method that runs now may be nearer to an object than the static field that holds it for good; the
    /// paths of two looks would differ for that alone. Of local variables, those go first whose object no other object
    /// refers to: `this` before the array that it holds.
    pub fn from_lasting_roots(graph: &HeapGraph) -> ShortestPaths {
        let is_local = |kind| matches!(kind, RootKind::Local | RootKind::PinnedLocal);
        let is_static = |kind| matches!(kind, RootKind::StaticField | RootKind::ThreadStaticField);
        let mut paths =
            ShortestPaths::in_turn(graph, &[&is_static, &move |kind| !is_static(kind) && !is_local(kind)]);
        let rest = ShortestPaths { before: paths.before.clone(), field: Vec::new(), ..paths };
        let is_top = rest.unreferred_below(graph, &is_local);
        for tops in [true, false] {
            paths.turn(graph, &is_local, &|target| is_top[target] == tops);
        }
        paths
    }

    /// The same from everything that is no local variable: what only running methods hold has no path.
    pub fn without_locals(graph: &HeapGraph) -> ShortestPaths {
        ShortestPaths::in_turn(graph, &[&|kind| !matches!(kind, RootKind::Local | RootKind::PinnedLocal)])
    }

    /// Finds the paths from the roots of each turn to what those before have not reached.
    fn in_turn(graph: &HeapGraph, turns: &[&dyn Fn(RootKind) -> bool]) -> ShortestPaths {
        let with_fields = !graph.fields.of_edge.is_empty();
        let mut paths = ShortestPaths {
            numbering: Numbering::of(graph),
            before: vec![NONE; graph.node_count()],
            field: vec![NONE; if with_fields { graph.node_count() } else { 0 }],
        };
        for turn in turns {
            paths.turn(graph, turn, &|_| true);
        }
        paths
    }

    /// Goes on from the roots of some kinds, as far as their targets are wanted.
    fn turn(&mut self, graph: &HeapGraph, kinds: &dyn Fn(RootKind) -> bool, wanted: &dyn Fn(usize) -> bool) {
        let mut queue: Vec<u32> = Vec::new();
        // Roots are ordered by kind, static fields first; those with a name go before those without.
        for named in [true, false] {
            let roots = graph.roots().filter(|(_, root)| root.name.is_some() == named && kinds(root.kind));
            for (id, root) in roots {
                for &target in root.targets.iter().filter(|&&target| wanted(as_index(target))) {
                    let before = &mut self.before[as_index(target)];
                    if *before == NONE {
                        *before = as_u32(self.numbering.root(id));
                        queue.push(target);
                    }
                }
            }
        }
        self.walk(graph, queue);
    }

    /// By object: whether roots of some kinds reach it, and no object that they reach refers to it.
    fn unreferred_below(mut self, graph: &HeapGraph, kinds: &dyn Fn(RootKind) -> bool) -> Vec<bool> {
        let mut is_top: Vec<bool> = self.before.iter().map(|&before| before == NONE).collect();
        let left = is_top.clone();
        self.turn(graph, kinds, &|_| true);
        for node in graph.nodes().map(NodeId::index) {
            if left[node] && self.before[node] != NONE {
                let others = graph.targets_of(node).iter().filter(|&&target| as_index(target) != node);
                others.for_each(|&target| is_top[as_index(target)] = false);
            }
        }
        is_top
    }

    /// Goes on from objects whose paths are known.
    fn walk(&mut self, graph: &HeapGraph, mut queue: Vec<u32>) {
        // Two lists in turn, so that no more is held than the two levels at work.
        let mut next = Vec::new();
        while !queue.is_empty() {
            for &node in &queue {
                for edge in graph.edges_of(as_index(node)) {
                    let target = as_index(graph.targets[edge]);
                    if self.before[target] == NONE {
                        self.before[target] = node;
                        if let Some(field) = self.field.get_mut(target) {
                            *field = graph.fields.of_edge[edge];
                        }
                        next.push(as_u32(target));
                    }
                }
            }
            std::mem::swap(&mut queue, &mut next);
            next.clear();
        }
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
