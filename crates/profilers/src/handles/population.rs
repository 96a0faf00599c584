//! The handles that are there, from the roots of the heap.

use std::collections::{BTreeMap, HashMap};

use heap_graph::{Generation, HeapGraph, NodeId, RootKind, TypeId};
use runtime_events::handle::HandleKind;

/// Different holders of one type that are kept apart; the rest is counted together.
const MOST_HOLDERS: usize = 64;

/// Handles of one kind to objects of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) kind: HandleKind,
    pub(super) type_name: String,
    pub(super) count: u64,
    /// Of the objects themselves.
    pub(super) bytes: u64,
    /// The type that refers to most of these objects too, and to how many.
    pub(super) holder: Option<(String, u64)>,
    /// How many of them lie where the collector moves objects, so that a pin makes a gap; none if that is not known.
    pub(super) in_the_way: Option<u64>,
}

/// All handles that keep objects alive.
#[derive(Clone, Debug, Default)]
pub(super) struct Population {
    /// Most first.
    pub(super) rows: Vec<Row>,
}

impl Population {
    pub(super) fn count(&self, kind: HandleKind) -> u64 {
        self.of(kind).map(|row| row.count).sum()
    }

    pub(super) fn of(&self, kind: HandleKind) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.kind == kind)
    }

    pub(super) fn see(graph: &HeapGraph) -> Population {
        let mut found: BTreeMap<(HandleKind, TypeId), Vec<NodeId>> = BTreeMap::new();
        for (_, root) in graph.roots() {
            let Some(kind) = kind_of(root.kind) else { continue };
            for node in root.targets() {
                found.entry((kind, graph.type_of(node))).or_default().push(node);
            }
        }
        let keys: Vec<(HandleKind, TypeId)> = found.keys().copied().collect();
        let mut rows_of: HashMap<NodeId, Vec<usize>> = HashMap::new();
        for (at, nodes) in found.values().enumerate() {
            for node in nodes {
                let rows = rows_of.entry(*node).or_default();
                if rows.last() != Some(&at) {
                    rows.push(at);
                }
            }
        }
        let holders = holders(graph, &rows_of, keys.len());
        let mut rows: Vec<Row> = keys
            .into_iter()
            .zip(found.into_values())
            .zip(holders)
            .map(|(((kind, id), nodes), holder)| Row {
                kind,
                type_name: graph.type_info(id).name.to_string(),
                count: nodes.len() as u64,
                bytes: nodes.iter().map(|node| graph.size(*node)).fold(0, u64::saturating_add),
                holder: holder.map(|(id, count)| (graph.type_info(id).name.to_string(), count)),
                in_the_way: in_the_way(graph, &nodes),
            })
            .collect();
        rows.sort_by(|a, b| (b.count, b.bytes).cmp(&(a.count, a.bytes)).then(a.type_name.cmp(&b.type_name)));
        Population { rows }
    }
}

fn kind_of(kind: RootKind) -> Option<HandleKind> {
    Some(match kind {
        RootKind::StrongHandle => HandleKind::Strong,
        RootKind::PinnedHandle => HandleKind::Pinned,
        RootKind::RefCounted => HandleKind::RefCounted,
        RootKind::DependentHandle => HandleKind::Dependent,
        RootKind::SizedRefHandle => HandleKind::SizedRef,
        _ => return None,
    })
}

/// For each row the type that refers to most of its objects: one walk over all references.
fn holders(
    graph: &HeapGraph,
    rows_of: &HashMap<NodeId, Vec<usize>>,
    rows: usize,
) -> Vec<Option<(TypeId, u64)>> {
    let mut counts: Vec<HashMap<TypeId, u64>> = vec![HashMap::new(); rows];
    for node in graph.nodes() {
        let holder = graph.type_of(node);
        for target in graph.references(node) {
            for &row in rows_of.get(&target).map_or(&[][..], Vec::as_slice) {
                let Some(counts) = counts.get_mut(row) else { continue };
                if counts.len() < MOST_HOLDERS || counts.contains_key(&holder) {
                    *counts.entry(holder).or_default() += 1;
                }
            }
        }
    }
    let most = |counts: HashMap<TypeId, u64>| {
        counts.into_iter().max_by_key(|(id, count)| (*count, std::cmp::Reverse(*id)))
    };
    counts.into_iter().map(most).collect()
}

/// How many lie in a generation that is compacted.
fn in_the_way(graph: &HeapGraph, nodes: &[NodeId]) -> Option<u64> {
    if graph.generations().is_empty() {
        return None;
    }
    let moves = |node: &&NodeId| {
        matches!(graph.generation(**node), Some(Generation::Gen0 | Generation::Gen1 | Generation::Gen2))
    };
    Some(nodes.iter().filter(moves).count() as u64)
}
