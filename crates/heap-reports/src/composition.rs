//! What a heap is made of: its generations with their holes, and what nobody holds.

use std::collections::BTreeMap;

use heap_graph::{Generation, Totals};
use model::{Body, Cell, Column, Section, Table, Unit};

use crate::look::Look;
use crate::roots::share;

/// The parts of a heap, where they are known, and its garbage.
pub(crate) fn composition(look: &Look) -> Section {
    let mut table = Table::new([
        Column::new("bytes", "Bytes", Unit::Bytes),
        Column::new("share", "Share", Unit::Percent),
        Column::new("objects", "Objects", Unit::Count),
        Column::new("holes", "Holes", Unit::Bytes),
        Column::new("part", "Part", Unit::Text),
    ]);
    let all = look.graph.total_size();
    let mut row = |totals: Totals, holes: Cell, part: &str| {
        if totals.objects > 0 {
            let share = share(totals.bytes, all);
            table.push([totals.bytes.into(), share.into(), totals.objects.into(), holes, part.into()]);
        }
    };
    let Parts { live, mut holes } = parts(look);
    for generation in Generation::ALL {
        let totals = live.get(&Some(generation)).copied().unwrap_or_default();
        row(totals, holes.remove(&generation).into(), generation.label());
    }
    let rest =
        if live.keys().any(Option::is_some) { "alive, of no generation that is known" } else { "alive" };
    row(live.get(&None).copied().unwrap_or_default(), Cell::Missing, rest);
    row(look.dominators.garbage(), Cell::Missing, "held by no root that is known");
    Section::new("composition", "What the heap is made of", Body::Table(table))
}

struct Parts {
    /// Live objects by generation; all of them in none, when the generations are not known.
    live: BTreeMap<Option<Generation>, Totals>,
    /// Bytes between objects, in the ranges of each generation.
    holes: BTreeMap<Generation, u64>,
}

fn parts(look: &Look) -> Parts {
    let (mut live, mut holes) = (BTreeMap::new(), BTreeMap::new());
    if look.graph.generations().is_empty() {
        live.insert(None, look.dominators.reachable());
        return Parts { live, holes };
    }
    for range in look.graph.generations().ranges() {
        *holes.entry(range.generation).or_default() += range.end.0 - range.start.0;
    }
    for node in look.graph.nodes() {
        let (generation, size) = (look.graph.generation(node), look.graph.size(node));
        if let Some(left) = generation.and_then(|generation| holes.get_mut(&generation)) {
            *left = left.saturating_sub(size);
        }
        if look.dominators.is_reachable(node) {
            let totals: &mut Totals = live.entry(generation).or_default();
            totals.objects += 1;
            totals.bytes = totals.bytes.saturating_add(size);
        }
    }
    Parts { live, holes }
}
