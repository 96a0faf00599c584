//! Numbers in the order of a depth-first walk, and the references seen from their targets.

use std::hint::black_box;
use std::ops::Range;

use crate::ids::{NONE, as_index, as_u32};
use crate::vertices::Vertices;

/// A depth-first walk from the entry. "Rank" is the place of a vertex in the walk, the entry's is 0.
#[derive(Debug)]
pub(crate) struct DepthFirst {
    /// By rank: the vertex.
    pub(crate) vertex: Vec<u32>,
    /// By rank: the rank of the vertex that the walk came from.
    pub(crate) parent: Vec<u32>,
}

/// By rank: the ranks of those that refer to it.
#[derive(Debug)]
pub(crate) struct Referrers {
    starts: Vec<u32>,
    pub(crate) ranks: Vec<u32>,
}

impl Referrers {
    /// Where the referrers of a rank stand in `ranks`.
    #[inline]
    pub(crate) fn positions(&self, rank: usize) -> Range<usize> {
        as_index(self.starts[rank])..as_index(self.starts[rank + 1])
    }
}

/// A vertex during the walk: side by side, because both change at every reference.
#[derive(Clone, Copy)]
struct Seen {
    /// [`NONE`] until the walk comes here.
    rank: u32,
    /// How often it was referred to from where the walk has been.
    references: u32,
}

struct Walk<'a> {
    vertices: &'a Vertices<'a>,
    seen: Vec<Seen>,
    result: DepthFirst,
    stack: Vec<Open>,
    /// Keeps the compiler from leaving out reads that are made ahead.
    touched: u32,
}

/// How many references of an object are read ahead.
const MOST_AHEAD: usize = 16;

/// A vertex whose references are being followed.
struct Open {
    rank: u32,
    /// The references that are left, as positions in the graph's list.
    next: u32,
    end: u32,
}

/// Walks, without recursion: a list of millions of links is as good as any other heap.
pub(crate) fn walk(vertices: &Vertices<'_>) -> (DepthFirst, Referrers) {
    let numbering = vertices.numbering;
    let unseen = Seen { rank: NONE, references: 0 };
    let mut walk = Walk {
        vertices,
        seen: vec![unseen; numbering.count()],
        result: DepthFirst { vertex: Vec::new(), parent: Vec::new() },
        stack: Vec::new(),
        touched: 0,
    };
    let entry = walk.visit(numbering.entry(), 0);
    for &kind in vertices.successors(numbering.entry()) {
        let kind_rank = walk.refer(kind, entry);
        for &root in vertices.successors(as_index(kind)) {
            let root_rank = walk.refer(root, kind_rank);
            for &object in vertices.successors(as_index(root)) {
                walk.objects_from(object, root_rank);
            }
        }
    }
    let Walk { seen, mut result, stack, touched, .. } = walk;
    drop(stack);
    black_box(touched);
    result.vertex.shrink_to_fit();
    result.parent.shrink_to_fit();
    let referrers = referrers(vertices, &result, &seen);
    (result, referrers)
}

impl Walk<'_> {
    fn visit(&mut self, vertex: usize, parent: u32) -> u32 {
        let rank = as_u32(self.result.vertex.len());
        self.seen[vertex].rank = rank;
        self.result.vertex.push(as_u32(vertex));
        self.result.parent.push(parent);
        rank
    }

    /// Follows a reference to a root or a kind, of which each has one.
    fn refer(&mut self, vertex: u32, parent: u32) -> u32 {
        self.seen[as_index(vertex)].references += 1;
        self.visit(as_index(vertex), parent)
    }

    /// Follows a reference from a root to an object, and on from there.
    fn objects_from(&mut self, object: u32, root: u32) {
        let graph = self.vertices.graph;
        self.seen[as_index(object)].references += 1;
        if self.seen[as_index(object)].rank != NONE {
            return;
        }
        self.open(object, root);
        while let Some(open) = self.stack.last_mut() {
            let mut found = None;
            for edge in open.next..open.end {
                let target = graph.targets[as_index(edge)];
                let seen = &mut self.seen[as_index(target)];
                seen.references += 1;
                if seen.rank == NONE {
                    found = Some((edge, target));
                    break;
                }
            }
            match found {
                None => drop(self.stack.pop()),
                Some((edge, target)) => {
                    open.next = edge + 1;
                    let rank = open.rank;
                    self.open(target, rank);
                }
            }
        }
    }

    fn open(&mut self, object: u32, parent: u32) {
        let graph = self.vertices.graph;
        let edges = graph.edges_of(as_index(object));
        // Where the references lead to lies anywhere in memory: asked for all at once, it arrives in the time of one.
        for &target in graph.targets[edges.clone()].iter().take(MOST_AHEAD) {
            self.touched ^= self.seen[as_index(target)].rank ^ graph.starts[as_index(target)];
        }
        let rank = self.visit(as_index(object), parent);
        self.stack.push(Open { rank, next: as_u32(edges.start), end: as_u32(edges.end) });
    }
}

/// The references by target: counted in the walk, so one pass in the order of the graph puts them in place.
fn referrers(vertices: &Vertices<'_>, walk: &DepthFirst, seen: &[Seen]) -> Referrers {
    let mut starts = Vec::with_capacity(walk.vertex.len() + 1);
    // The end of each list, which the pass moves to its start.
    let mut total = 0_u32;
    for &vertex in &walk.vertex {
        total += seen[as_index(vertex)].references;
        starts.push(total);
    }
    starts.push(total);
    let mut ranks = vec![0_u32; as_index(total)];
    for (vertex, from) in seen.iter().enumerate().filter(|(_, from)| from.rank != NONE) {
        for &target in vertices.successors(vertex) {
            let start = &mut starts[as_index(seen[as_index(target)].rank)];
            *start -= 1;
            ranks[as_index(*start)] = from.rank;
        }
    }
    Referrers { starts, ranks }
}
