//! From the heap to an answer.

use std::cmp::Reverse;

use heap_graph::{Place, RootKind, TypeRow, TypeTree};
use heap_reports::{Look, Suspect, path_line, root_label, suspects};
use model::{Body, Column, Confidence, Culprit, CulpritKind, Finding, Section, Severity, Table, Unit};

use super::lines::{Limits, Measure, tree};
use crate::Settings;
use crate::about::About;
use crate::profiler::Answer;
use crate::ratio::{bytes_words, count_words, fraction, percent, share_words};

/// Most holders that are told of.
const MOST_HOLDERS: usize = 3;
/// A root that holds at least this share is named in the summary, in per cent.
const MUCH: f64 = 20.0;

pub(super) fn answer(look: &Look, mut about: About, settings: &Settings) -> Answer {
    let lines = TypeTree::of(&look.graph, &look.dominators);
    let limits = Limits {
        measure: Measure::of(settings.choice("sort")),
        threshold: settings.integer("threshold"),
        depth: settings.integer("depth"),
        rows: settings.integer("rows"),
    };
    let shown = tree(&look.graph, &lines, &limits);
    let mut sections =
        vec![Section::new("survivors", "What hangs on what, from the roots down", Body::Tree(shown))];
    sections.extend(types(look, limits.measure, settings.integer("types")));
    let mut notes = std::mem::take(&mut about.notes);
    notes.extend(more_notes(look, &lines));
    about.into_answer(
        summary(look, &lines),
        suspects(look, MOST_HOLDERS).iter().map(|holder| finding(look, holder)).collect(),
        sections,
        notes,
    )
}

fn summary(look: &Look, lines: &TypeTree) -> String {
    let live = look.dominators.reachable();
    let begin = format!(
        "{} objects with {} survive a full collection",
        count_words(live.objects),
        bytes_words(fraction(live.bytes))
    );
    let roots = lines.lines().filter_map(|(_, line)| match line.place {
        Place::Root(id) => Some((line.held.bytes, id)),
        _ => None,
    });
    match roots.max_by_key(|(bytes, id)| (*bytes, Reverse(*id))) {
        Some((bytes, id)) if percent(bytes, live.bytes) >= MUCH => {
            let share = share_words(bytes, live.bytes);
            let root = look.graph.root(id);
            format!("{begin}; {share} of it hangs on {}.", root_label(root.kind, root.name))
        }
        _ => format!("{begin}; no root with a name holds much of it alone."),
    }
}

fn types(look: &Look, measure: Measure, most: u64) -> Option<Section> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if most == 0 {
        return None;
    }
    let mut rows: Vec<&TypeRow> = look.types.iter().filter(|row| row.live.objects > 0).collect();
    let key = |row: &TypeRow| match measure {
        Measure::Retained => row.retained,
        Measure::Bytes => row.live.bytes,
        Measure::Count => row.live.objects,
    };
    rows.sort_by_key(|row| Reverse(key(row)));
    let mut table = Table::new([
        Column::new("objects", "Objects", Unit::Count),
        Column::new("bytes", "Bytes", Unit::Bytes),
        Column::new("retained", "Retained", Unit::Bytes),
        Column::new("type", "Type", Unit::Text),
    ]);
    for row in rows.iter().take(most) {
        table.push([
            row.live.objects.into(),
            row.live.bytes.into(),
            row.retained.into(),
            (&*row.name).into(),
        ]);
    }
    table.omitted_rows = rows.len().saturating_sub(most) as u64;
    Some(Section::new("types", "By type (retained: what would go with its objects)", Body::Table(table)))
}

/// What much of the heap hangs on is worth knowing, and no illness: only time tells a cache from a leak.
fn finding(look: &Look, holder: &Suspect) -> Finding {
    let name = &look.graph.type_info(holder.type_id).name;
    let share = share_words(holder.retained, look.live_bytes());
    let title = match &holder.holds {
        Some((id, totals)) => {
            format!("{} {} hang on one {name}", count_words(totals.objects), look.graph.type_info(*id).name)
        }
        None => format!("One {name} is {share} of what survives"),
    };
    let held = format!("{} ({share} of what survives)", bytes_words(fraction(holder.retained)));
    let mut finding =
        Finding::new("heap-holder", Severity::Info, Confidence::High, title).evidence("Held", held);
    if let Some((root, steps)) = &holder.path {
        let holder = look.graph.root(*root);
        let is_field = matches!(holder.kind, RootKind::StaticField | RootKind::ThreadStaticField);
        if let Some(field) = holder.name.filter(|_| is_field) {
            finding = finding.culprit(Culprit::new(CulpritKind::Field, field));
        }
        finding = finding.evidence("Path", path_line(look, *root, steps));
    }
    finding.advice("If it should not hold that much: `drdotnet run memory-leaks` tells whether it grows.")
}

fn more_notes(look: &Look, lines: &TypeTree) -> Vec<String> {
    let mut notes = Vec::new();
    let unreached = look.dominators.garbage();
    if unreached.objects > 0 {
        notes.push(format!(
            "{} objects ({}) are reached from no root that is known, such as garbage and string literals; they are not in \
             the tree",
            count_words(unreached.objects),
            bytes_words(fraction(unreached.bytes))
        ));
    }
    if lines.lines().any(|(_, line)| line.repeats) {
        notes.push(
            "* means that objects of the same type further down, as in a list, are in this line with all they hold"
                .to_owned(),
        );
    }
    notes
}
