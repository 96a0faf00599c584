//! Two looks at a heap: what grew, and who holds it.

use std::collections::{BTreeMap, HashMap};

use heap_graph::{Totals, TypeGrowth, growth as by_type, shapes_to};
use model::{
    Body, Cell, Column, Confidence, Culprit, CulpritKind, Finding, Report, Section, Severity, Table, Unit,
};
use reports::value::format_bytes;

use crate::heap::count;
use crate::look::Look;
use crate::origin::{Answer, Origin};
use crate::path_tree;
use crate::roots::{label, share};

/// A type that grew is told of when its growth is at least this share of the heap before, in per cent...
const LEAST_SHARE: f64 = 5.0;
/// ...and so many bytes.
const LEAST_BYTES: i128 = 500_000;
/// Most growing types that are told of.
const MOST: usize = 3;

/// The report on what grew from one look to a later one, with so many rows in each table.
#[must_use]
pub fn growth(before: &Look, after: &Look, origin: &Origin, top: usize) -> Report {
    let changes = by_type(&before.types, &after.types);
    let (was, is) = (before.dominators.reachable(), after.dominators.reachable());
    origin.report(Answer {
        id: "gcdump-diff",
        name: "Heap growth",
        question: "What grew on the heap, and what holds it?",
        parameters: BTreeMap::from([("top".to_owned(), top.to_string())]),
        summary: summary(was, is),
        findings: findings(&changes, before, after),
        sections: vec![types(&changes, top), roots(before, after, top.min(10))],
        notes: Vec::new(),
    })
}

fn summary(was: Totals, is: Totals) -> String {
    let bytes = difference(is.bytes, was.bytes);
    let objects = difference(is.objects, was.objects);
    let word = match bytes {
        0 => "is as large as it was",
        bytes if bytes > 0 => "grew",
        _ => "shrank",
    };
    if bytes == 0 {
        return format!("What is alive {word}: {} in {} objects.", format_bytes(is.bytes), count(is.objects));
    }
    format!(
        "What is alive {word} by {} ({:+.0} %), from {} to {}; objects {} from {} to {}.",
        format_bytes(magnitude(bytes)),
        share(magnitude(bytes), was.bytes) * if bytes < 0 { -1.0 } else { 1.0 },
        format_bytes(was.bytes),
        format_bytes(is.bytes),
        if objects < 0 { "went down" } else { "went up" },
        count(was.objects),
        count(is.objects)
    )
}

fn types(changes: &[TypeGrowth], top: usize) -> Section {
    let mut table = Table::new([
        Column::new("objects-growth", "+Objects", Unit::Count),
        Column::new("bytes-growth", "+Bytes", Unit::Bytes),
        Column::new("retained-growth", "+Retained", Unit::Bytes),
        Column::new("objects", "Objects now", Unit::Count),
        Column::new("type", "Type", Unit::Text),
    ]);
    let grown: Vec<&TypeGrowth> =
        changes.iter().filter(|change| change.retained() > 0 || change.objects() > 0).collect();
    table.omitted_rows = grown.len().saturating_sub(top) as u64;
    for change in grown.into_iter().take(top) {
        table.push([
            signed(change.objects()),
            signed(change.bytes()),
            signed(change.retained()),
            change.after.objects.into(),
            (&*change.name).into(),
        ]);
    }
    Section::new("growth", "By type, the most growth first", Body::Table(table))
}

fn roots(before: &Look, after: &Look, top: usize) -> Section {
    let held = |look: &Look| -> HashMap<String, u64> {
        look.graph.roots().map(|(id, root)| (label(&root), look.dominators.retained_by_root(id))).collect()
    };
    let (was, is) = (held(before), held(after));
    let mut table = Table::new([
        Column::new("retained-growth", "+Held by it alone", Unit::Bytes),
        Column::new("retained", "Now", Unit::Bytes),
        Column::new("root", "Root", Unit::Text),
    ]);
    let mut rows: Vec<(i128, u64, String)> = is
        .into_iter()
        .map(|(name, now)| (difference(now, was.get(&name).copied().unwrap_or(0)), now, name))
        .filter(|(growth, _, _)| *growth > 0)
        .collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
    table.omitted_rows = rows.len().saturating_sub(top) as u64;
    for (growth, now, name) in rows.into_iter().take(top) {
        table.push([signed(growth), now.into(), name.into()]);
    }
    Section::new("root-growth", "By root", Body::Table(table))
}

/// The types whose number of objects grew most in bytes. A type whose growth is the one of another that holds it (`Order`
/// and the `Byte[]` in it) is told of once: its shortest way leads through the other.
fn findings(changes: &[TypeGrowth], before: &Look, after: &Look) -> Vec<Finding> {
    let least = |change: &&TypeGrowth| {
        change.objects() > 0
            && change.retained() >= LEAST_BYTES
            && share(magnitude(change.retained()), before.live_bytes()) >= LEAST_SHARE
    };
    let mut told: Vec<Finding> = Vec::new();
    let mut covered: Vec<Box<str>> = Vec::new();
    for change in changes.iter().filter(least) {
        if told.len() == MOST {
            break;
        }
        let members = after.types.iter().filter(|row| row.name == change.name && row.module == change.module);
        let ids: Vec<_> = members.map(|row| row.id).collect();
        let nodes = after.graph.nodes().filter(|&node| ids.contains(&after.graph.type_of(node)));
        let shapes = shapes_to(&after.graph, &after.paths, nodes, 1);
        let Some(shape) = shapes.shapes.first() else { continue };
        let passes = |name: &str| {
            shape.steps.iter().rev().skip(1).any(|step| *after.graph.type_info(step.type_id).name == *name)
        };
        if covered.iter().any(|name| passes(name)) {
            continue;
        }
        covered.push(change.name.clone());
        let title = format!(
            "{} {} more, and {} with them",
            count(magnitude(change.objects())),
            change.name,
            format_bytes(magnitude(change.retained()))
        );
        let root = after.graph.root(shape.root);
        let mut finding = Finding::new("heap-growth", Severity::Warning, Confidence::Medium, title)
            .culprit(match root.name {
                Some(field) => Culprit::new(CulpritKind::Field, field),
                None => Culprit::new(CulpritKind::Type, &*change.name),
            })
            .evidence(
                "Objects",
                format!("{} before, {} now", count(change.before.objects), count(change.after.objects)),
            )
            .evidence(
                "Path",
                format!(
                    "{} ({} of {})",
                    path_tree::line(after, shape.root, &shape.steps),
                    count(shape.objects),
                    count(change.after.objects)
                ),
            );
        if told.is_empty() {
            finding = finding
                .advice("Look at who adds to what the path names, and whether anybody takes out again.");
        }
        told.push(finding);
    }
    told
}

fn difference(now: u64, was: u64) -> i128 {
    i128::from(now) - i128::from(was)
}

fn magnitude(number: i128) -> u64 {
    u64::try_from(number.unsigned_abs()).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "what has more than 53 bits is rounded on the screen anyway")]
fn signed(number: i128) -> Cell {
    match u64::try_from(number) {
        Ok(number) => Cell::Number(number),
        Err(_) => Cell::Fraction(number as f64),
    }
}
