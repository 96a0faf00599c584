//! One heap: its types, its roots, its suspects; and the ways to one type.

use std::collections::BTreeMap;

use heap_graph::{TypeId, shapes_to};
use model::{Confidence, Culprit, CulpritKind, Finding, Report, Section, Severity, Unit};
use reports::value::{format_bytes, format_whole};

use crate::composition::composition;
use crate::look::Look;
use crate::origin::{Answer, Origin};
use crate::path_tree;
use crate::roots::{kinds, named, share};
use crate::suspects::{Suspect, suspects};
use crate::type_list;

/// Most suspects that are told.
const MOST_SUSPECTS: usize = 3;

/// What a suspect is followed by in the report of a file.
const COMPARE_FILES: &str =
    "One look cannot tell a leak from a cache: collect again later and compare: drdotnet gcdump diff A B";

/// The report on one heap, with so many rows in each table.
#[must_use]
pub fn heap(look: &Look, origin: &Origin, top: usize) -> Report {
    let found = suspects(look, MOST_SUSPECTS);
    origin.report(Answer {
        id: "gcdump-report",
        name: "Heap",
        question: "What is on the heap, and what holds it?",
        parameters: BTreeMap::from([("top".to_owned(), top.to_string())]),
        summary: summary(look, &found),
        findings: findings(look, &found, COMPARE_FILES),
        sections: vec![types(look, top), kinds(look), named(look, top.min(10))],
        notes: notes(look),
    })
}

/// The report of the friendly door on one heap: what it is made of, what holds it. The parts in `beside`, about the
/// memory around it, come first, and `advice` goes with the first suspect.
#[must_use]
pub fn overview(look: &Look, origin: &Origin, top: usize, beside: Vec<Section>, advice: &str) -> Report {
    let found = suspects(look, MOST_SUSPECTS);
    let of_heap = [composition(look), types(look, top), kinds(look), named(look, top.min(10))];
    origin.report(Answer {
        id: "heap",
        name: "Heap",
        question: "What is on the heap, and what holds it?",
        parameters: BTreeMap::from([("top".to_owned(), top.to_string())]),
        summary: summary(look, &found),
        findings: findings(look, &found, advice),
        sections: beside.into_iter().chain(of_heap).collect(),
        notes: notes(look),
    })
}

fn summary(look: &Look, found: &[Suspect]) -> String {
    let live = look.dominators.reachable();
    let mut summary = format!(
        "{} objects of {} types, {} alive",
        count(live.objects),
        count(look.types.iter().filter(|row| row.live.objects > 0).count() as u64),
        format_bytes(live.bytes)
    );
    summary += &match found.first() {
        Some(suspect) => format!(
            "; {:.0} % of it hangs on one {}.",
            share(suspect.retained, live.bytes),
            look.graph.type_info(suspect.type_id).name
        ),
        None => "; no single object holds much of it.".to_owned(),
    };
    summary
}

fn types(look: &Look, top: usize) -> Section {
    type_list::section(look.types.iter().filter(|row| row.live.objects > 0), top)
}

fn findings(look: &Look, found: &[Suspect], advice: &str) -> Vec<Finding> {
    let of = |(at, suspect)| finding(look, suspect, (at == 0).then_some(advice));
    found.iter().enumerate().map(of).collect()
}

fn finding(look: &Look, suspect: &Suspect, advice: Option<&str>) -> Finding {
    let name = &look.graph.type_info(suspect.type_id).name;
    let percent = share(suspect.retained, look.live_bytes());
    let title = match &suspect.holds {
        Some((id, totals)) => {
            format!("{} {} hang on one {name}", count(totals.objects), look.graph.type_info(*id).name)
        }
        None => format!("One {name} is {percent:.0} % of the heap"),
    };
    let mut finding = Finding::new("heap-suspect", Severity::Info, Confidence::Medium, title)
        .evidence("Held", format!("{} ({percent:.0} % of what is alive)", format_bytes(suspect.retained)));
    if let Some((root, steps)) = &suspect.path {
        let holder = look.graph.root(*root);
        if let Some(field) = holder.name {
            finding = finding.culprit(Culprit::new(CulpritKind::Field, field));
        }
        finding = finding.evidence("Path", path_tree::line(look, *root, steps));
    }
    match advice {
        Some(advice) => finding.advice(advice),
        None => finding,
    }
}

fn notes(look: &Look) -> Vec<String> {
    let mut notes = Vec::new();
    let garbage = look.dominators.garbage();
    if garbage.objects > 0 {
        notes.push(format!(
            "{} objects ({}) are reached from no root that the runtime tells of, such as string literals; they are not \
             in the tables.",
            count(garbage.objects),
            format_bytes(garbage.bytes)
        ));
    }
    let losses = look.graph.losses();
    if losses.clipped_sizes > 0 {
        notes.push(format!(
            "{} objects have the largest size that the file format knows, 2 GB; they may be larger.",
            count(losses.clipped_sizes)
        ));
    }
    if losses.dangling_references + losses.dangling_roots > 0 {
        notes.push(format!(
            "{} references and {} roots lead to objects that were not told.",
            count(losses.dangling_references),
            count(losses.dangling_roots)
        ));
    }
    notes
}

/// The report on who holds the objects of a type, which may be in several modules.
#[must_use]
pub fn paths(look: &Look, origin: &Origin, types: &[TypeId], limit: usize) -> Report {
    let members = look.graph.nodes().filter(|&node| types.contains(&look.graph.type_of(node)));
    let shapes = shapes_to(&look.graph, &look.paths, members, limit);
    let rows = look.types.iter().filter(|row| types.contains(&row.id));
    let (mut objects, mut bytes, mut retained) = (0, 0, 0);
    for row in rows {
        objects += row.live.objects;
        bytes += row.live.bytes;
        retained += row.retained;
    }
    let name = types.first().map_or("", |&id| &look.graph.type_info(id).name);
    let summary = format!(
        "{} {name} with {} are alive; {} would go with them.",
        count(objects),
        format_bytes(bytes),
        format_bytes(retained)
    );
    origin.report(Answer {
        id: "gcdump-paths",
        name: "Paths",
        question: "What holds the objects of this type?",
        parameters: BTreeMap::from([
            ("type".to_owned(), name.to_owned()),
            ("limit".to_owned(), limit.to_string()),
        ]),
        summary,
        findings: Vec::new(),
        sections: vec![path_tree::section(
            look,
            "paths",
            "Shortest ways from the roots, merged where they look the same",
            &shapes,
        )],
        notes: vec![
            "An object may be held in more ways than the shortest one. * means that the way may pass here again.".to_owned(),
        ],
    })
}

pub(crate) fn count(number: u64) -> String {
    format_whole(number, Unit::Count)
}
