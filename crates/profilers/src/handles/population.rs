//! The handles that are there, from the roots of the heap.

use std::collections::{BTreeMap, HashMap};

use gc_memory::{Handle, HandleKind as Told};
use heap_graph::{Generation, HeapGraph, NodeId, RootKind, TypeId};
use runtime_events::handle::HandleKind;
use symbols::is_framework_module;

use super::kept_in;
use crate::heap::memory::Memory;

/// Most handles whose object's type is read.
const MOST_READ: usize = 200_000;
/// Bits of an object's first word that are no part of its type.
const MARKS: u64 = 7;
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
    /// The type whose objects contain most of these handles, and how many.
    pub(super) kept_in: Option<(String, u64)>,
    /// Whether the type is not .NET's.
    pub(super) own: bool,
    /// How many of them lie where the collector moves objects, so that a pin makes a gap; none if that is not known.
    pub(super) in_the_way: Option<u64>,
}

/// All handles that keep objects alive.
#[derive(Clone, Debug, Default)]
pub(super) struct Population {
    /// Most first.
    pub(super) rows: Vec<Row>,
    /// Whether all kinds are counted, not only those that are roots.
    pub(super) all_kinds: bool,
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
                kept_in: None,
                own: is_own(graph, id),
                in_the_way: in_the_way(graph, &nodes),
            })
            .collect();
        sort(&mut rows);
        Population { rows, all_kinds: false }
    }

    /// Adds what the runtime's own tables tell: kinds that are no roots, and which objects contain handles.
    pub(super) fn add<M: Memory>(
        &mut self,
        graph: &HeapGraph,
        classes: &HashMap<TypeId, u64>,
        handles: &[Handle],
        memory: &mut M,
    ) {
        self.all_kinds = true;
        self.add_others(graph, classes, handles, memory);
        let mut targets: HashMap<u64, NodeId> = HashMap::new();
        for (_, root) in graph.roots().filter(|(_, root)| kind_of(root.kind).is_some()) {
            targets.extend(root.targets().map(|node| (graph.address(node).0, node)));
        }
        let holding = || handles.iter().filter(|handle| matches!(handle.kind, Told::Strong | Told::Pinned));
        let kept = kept_in::find(graph, memory, holding().map(|handle| (handle.at, None)).collect());
        let mut counts: HashMap<(HandleKind, &str), HashMap<TypeId, u64>> = HashMap::new();
        for handle in holding() {
            if let (Some(Some(keeper)), Some(node)) = (kept.get(&handle.at), targets.get(&handle.object)) {
                let name = &*graph.type_info(graph.type_of(*node)).name;
                *counts.entry((told_kind(handle.kind), name)).or_default().entry(*keeper).or_default() += 1;
            }
        }
        for row in &mut self.rows {
            let most = counts.get(&(row.kind, row.type_name.as_str())).and_then(most);
            row.kept_in = most.map(|(id, count)| (graph.type_info(id).name.to_string(), count));
        }
    }

    /// Handles that are no roots, by the types of their objects.
    fn add_others<M: Memory>(
        &mut self,
        graph: &HeapGraph,
        classes: &HashMap<TypeId, u64>,
        handles: &[Handle],
        memory: &mut M,
    ) {
        let by_class: HashMap<u64, TypeId> = classes.iter().map(|(id, class)| (*class, *id)).collect();
        let mut counts: BTreeMap<(HandleKind, Option<TypeId>), u64> = BTreeMap::new();
        let others = handles.iter().map(|handle| (told_kind(handle.kind), handle.object));
        for (at, (kind, object)) in others.filter(|(kind, _)| !ROOTS.contains(kind)).enumerate() {
            let mut head = [0; 8];
            let is_read = at < MOST_READ && memory.read(object, &mut head);
            let id = is_read.then(|| by_class.get(&(u64::from_le_bytes(head) & !MARKS)).copied()).flatten();
            *counts.entry((kind, id)).or_default() += 1;
        }
        self.rows.retain(|row| ROOTS.contains(&row.kind));
        self.rows.extend(counts.into_iter().map(|((kind, id), count)| Row {
            kind,
            type_name: id.map_or("?", |id| &graph.type_info(id).name).to_owned(),
            count,
            bytes: 0,
            holder: None,
            kept_in: None,
            own: id.is_some_and(|id| is_own(graph, id)),
            in_the_way: None,
        }));
        sort(&mut self.rows);
    }
}

/// Kinds whose objects are roots.
pub(super) const ROOTS: [HandleKind; 4] =
    [HandleKind::Strong, HandleKind::Pinned, HandleKind::RefCounted, HandleKind::SizedRef];

fn told_kind(kind: Told) -> HandleKind {
    match kind {
        Told::WeakShort => HandleKind::WeakShort,
        Told::WeakLong => HandleKind::WeakLong,
        Told::Strong => HandleKind::Strong,
        Told::Pinned => HandleKind::Pinned,
        Told::Variable => HandleKind::Variable,
        Told::RefCounted => HandleKind::RefCounted,
        Told::Dependent => HandleKind::Dependent,
        Told::AsyncPinned => HandleKind::AsyncPinned,
        Told::SizedRef => HandleKind::SizedRef,
        _ => HandleKind::Other(u32::MAX),
    }
}

fn is_own(graph: &HeapGraph, id: TypeId) -> bool {
    let info = graph.type_info(id);
    info.module.as_deref().is_none_or(|module| !is_framework_module(module))
        && !info.name.starts_with("System.")
}

fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| (b.count, b.bytes).cmp(&(a.count, a.bytes)).then(a.type_name.cmp(&b.type_name)));
}

fn most(counts: &HashMap<TypeId, u64>) -> Option<(TypeId, u64)> {
    let counts = counts.iter().map(|(id, count)| (*id, *count));
    counts.max_by_key(|(id, count)| (*count, std::cmp::Reverse(*id)))
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
    counts.iter().map(most).collect()
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
