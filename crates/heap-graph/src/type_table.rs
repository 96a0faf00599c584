//! The heap by type, and how it grew between two looks.

use std::collections::HashMap;

use crate::dominators::{Dominators, Totals};
use crate::graph::HeapGraph;
use crate::ids::{TypeId, as_index};

/// One type's part of the heap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeRow {
    /// The type, in the graph that the table is of.
    pub id: TypeId,
    /// Its full name.
    pub name: Box<str>,
    /// The module that defines it, when known.
    pub module: Option<Box<str>>,
    /// Its objects that the roots reach.
    pub live: Totals,
    /// Its objects that no root reaches.
    pub garbage: Totals,
    /// Bytes that would go with its objects; see [`Dominators::retained_by_type`].
    pub retained: u64,
}

/// A row for each type that has objects, the most retained bytes first.
pub fn by_type(graph: &HeapGraph, dominators: &Dominators) -> Vec<TypeRow> {
    let mut live = vec![Totals::default(); graph.types.len()];
    let mut garbage = live.clone();
    for (node, (size, &its_type)) in graph.nodes().zip(graph.sizes.iter().zip(&graph.node_types)) {
        let part = if dominators.is_reachable(node) { &mut live } else { &mut garbage };
        part[as_index(its_type)].add(size);
    }
    let mut rows: Vec<TypeRow> = graph
        .types()
        .map(|(id, info)| TypeRow {
            id,
            name: info.name.clone(),
            module: info.module.clone(),
            live: live[id.index()],
            garbage: garbage[id.index()],
            retained: dominators.retained_by_type(id),
        })
        .filter(|row| row.live.objects + row.garbage.objects > 0)
        .collect();
    rows.sort_by(|a, b| (b.retained, b.live.bytes).cmp(&(a.retained, a.live.bytes)).then(a.id.cmp(&b.id)));
    rows
}

/// Bytes and objects per type without knowing what is reachable: one pass, no dominators. By [`TypeId`].
pub fn shallow_totals(graph: &HeapGraph) -> Vec<Totals> {
    let mut totals = vec![Totals::default(); graph.types.len()];
    for (size, &its_type) in graph.sizes.iter().zip(&graph.node_types) {
        totals[as_index(its_type)].add(size);
    }
    totals
}

/// What changed in one type between two looks. Types are the same when name and module are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeGrowth {
    /// Its full name.
    pub name: Box<str>,
    /// The module that defines it, when known.
    pub module: Option<Box<str>>,
    /// Reachable objects before.
    pub before: Totals,
    /// Reachable objects after.
    pub after: Totals,
    /// Bytes retained before.
    pub retained_before: u64,
    /// Bytes retained after.
    pub retained_after: u64,
}

impl TypeGrowth {
    /// How many objects more there are.
    pub fn objects(&self) -> i128 {
        i128::from(self.after.objects) - i128::from(self.before.objects)
    }

    /// How many bytes more the objects themselves have.
    pub fn bytes(&self) -> i128 {
        i128::from(self.after.bytes) - i128::from(self.before.bytes)
    }

    /// How many bytes more are retained.
    pub fn retained(&self) -> i128 {
        i128::from(self.retained_after) - i128::from(self.retained_before)
    }
}

/// How each type grew from one table to a later one, the most retained growth first. Types that did not change
/// are left out; only reachable objects count.
pub fn growth(before: &[TypeRow], after: &[TypeRow]) -> Vec<TypeGrowth> {
    let mut changes: HashMap<(&str, Option<&str>), TypeGrowth> = HashMap::new();
    for (rows, later) in [(before, false), (after, true)] {
        for row in rows {
            let key = (&*row.name, row.module.as_deref());
            let change = changes.entry(key).or_insert_with(|| TypeGrowth {
                name: row.name.clone(),
                module: row.module.clone(),
                before: Totals::default(),
                after: Totals::default(),
                retained_before: 0,
                retained_after: 0,
            });
            let (totals, retained) = if later {
                (&mut change.after, &mut change.retained_after)
            } else {
                (&mut change.before, &mut change.retained_before)
            };
            totals.objects += row.live.objects;
            totals.bytes = totals.bytes.saturating_add(row.live.bytes);
            *retained = retained.saturating_add(row.retained);
        }
    }
    let mut changes: Vec<TypeGrowth> = changes
        .into_values()
        .filter(|change| change.before != change.after || change.retained_before != change.retained_after)
        .collect();
    changes.sort_by(|a, b| {
        let key = |change: &TypeGrowth| (change.retained(), change.bytes());
        key(b).cmp(&key(a)).then_with(|| (&a.name, &a.module).cmp(&(&b.name, &b.module)))
    });
    changes
}
