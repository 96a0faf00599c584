//! What a heap is made of: its generations, and what nobody holds.

use std::collections::BTreeMap;

use heap_graph::{Generation, Totals};
use model::{Body, Column, Section, Table, Unit};

use crate::look::Look;
use crate::roots::share;

/// The parts of a heap, where they are known, and its garbage.
pub(crate) fn composition(look: &Look) -> Section {
    let mut table = Table::new([
        Column::new("bytes", "Bytes", Unit::Bytes),
        Column::new("share", "Share", Unit::Percent),
        Column::new("objects", "Objects", Unit::Count),
        Column::new("part", "Part", Unit::Text),
    ]);
    let all = look.graph.total_size();
    let mut row = |totals: Totals, part: &str| {
        if totals.objects > 0 {
            table.push([
                totals.bytes.into(),
                share(totals.bytes, all).into(),
                totals.objects.into(),
                part.into(),
            ]);
        }
    };
    for (generation, totals) in by_generation(look) {
        row(totals, generation.map_or("alive", Generation::label));
    }
    row(look.dominators.garbage(), "held by no root that is known");
    Section::new("composition", "What it is made of", Body::Table(table))
}

/// Live objects by generation, those of none first: all of them, when the generations are not known.
fn by_generation(look: &Look) -> BTreeMap<Option<Generation>, Totals> {
    let mut parts: BTreeMap<Option<Generation>, Totals> = BTreeMap::new();
    if look.graph.generations().is_empty() {
        parts.insert(None, look.dominators.reachable());
        return parts;
    }
    for node in look.graph.nodes().filter(|&node| look.dominators.is_reachable(node)) {
        let totals = parts.entry(look.graph.generation(node)).or_default();
        totals.objects += 1;
        totals.bytes = totals.bytes.saturating_add(look.graph.size(node));
    }
    parts
}
