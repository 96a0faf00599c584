//! From handles to an answer.

use std::collections::BTreeSet;
use std::time::Duration;

use model::{
    Body, Cell, Column, Confidence, Culprit, CulpritKind, Fact, Finding, Section, Severity, Table, Unit,
    Value, format_duration,
};
use runtime_events::handle::HandleKind;

use super::Seen;
use super::population::{ROOTS, Row};
use super::watch::{Counts, words};
use crate::Settings;
use crate::about::About;
use crate::blame;
use crate::profiler::Answer;
use crate::ratio::{count_words, per_second, rate_words};
use crate::stack_section::stack_section;

/// Windows that are shorter prove no leak.
const SHORTEST_PROOF: Duration = Duration::from_millis(900);
const HOUR: Duration = Duration::from_secs(3600);
/// Kinds that hold objects until somebody frees them. Weak and dependent ones are freed by finalizers, sooner or later.
const HOLDING: [HandleKind; 2] = [HandleKind::Strong, HandleKind::Pinned];
/// Kinds that are always listed.
const LISTED: [HandleKind; 2] = HOLDING;

pub(super) fn answer(seen: &Seen, about: About, settings: &Settings) -> Answer {
    let top = settings.integer("top");
    let rows = usize::try_from(top).unwrap_or(usize::MAX);
    let mut findings: Vec<Finding> = leaks(seen, settings.integer("least"));
    findings.extend(pinning(seen, settings.integer("pinned")));
    let mut sections = vec![kinds(seen)];
    if !seen.population.rows.is_empty() {
        sections.push(types(seen, rows));
    }
    if !seen.changes.makers.is_empty() {
        sections.push(makers(seen, rows));
    }
    let stacks = seen.changes.makers.iter().filter(|maker| HOLDING.contains(&maker.kind));
    let stacks = stacks.map(|maker| (maker.counts.left(), maker.frames.clone()));
    let stacks: Vec<_> = stacks.filter(|(left, _)| *left > 0).collect();
    sections.extend(stack_section(
        "stacks",
        "Stacks that leave handles behind",
        Unit::Count,
        stacks,
        top.min(3),
    ));
    let notes = notes(seen);
    about.into_answer(summary(seen), findings, sections, notes)
}

fn summary(seen: &Seen) -> String {
    let made: u64 = seen.changes.makers.iter().map(|maker| maker.counts.made).sum();
    let freed: u64 = seen.changes.makers.iter().map(|maker| maker.counts.freed).sum();
    format!(
        "{} objects are pinned by handles and {} held by strong ones; {} handles were made and {} freed within {}.",
        count_words(seen.population.count(HandleKind::Pinned)),
        count_words(seen.population.count(HandleKind::Strong)),
        count_words(made),
        count_words(freed + seen.changes.older),
        format_duration(seen.window),
    )
}

/// Methods that make handles which hold objects, and do not free them.
fn leaks(seen: &Seen, least: u64) -> Vec<Finding> {
    if seen.window < SHORTEST_PROOF {
        return Vec::new();
    }
    let mut found = Vec::new();
    for kind in HOLDING {
        let all = seen.changes.of_kind(kind);
        // Handles that were freed and are older may be of this kind: then as many are freed as are made.
        let left = all.left().saturating_sub(seen.changes.older);
        let is_leak = left >= least && left >= all.made / 2 && left <= seen.population.count(kind);
        let Some(maker) = seen.changes.makers.iter().find(|maker| maker.kind == kind).filter(|_| is_leak)
        else {
            continue;
        };
        let hourly = per_second(left, seen.window) * HOUR.as_secs_f64();
        let kind_words = words(kind);
        let title = format!("{} {kind_words} handles were made and not freed", count_words(left));
        let mut finding = Finding::new("handle-leak", Severity::Warning, Confidence::High, title)
            .fact(Fact::measured([
                ("made", Value::Count(all.made)),
                ("freed", Value::Count(all.freed + seen.changes.older)),
                ("there-now", Value::Count(seen.population.count(kind))),
                ("window", Value::time(seen.window)),
            ]))
            .evidence("Growth", format!("{} an hour", rate_words(hourly)))
            .evidence(
                "Made and freed",
                format!("{} and {}", count_words(all.made), count_words(all.freed + seen.changes.older)),
            )
            .evidence("There now", count_words(seen.population.count(kind)));
        if let Some(row) = seen.population.of(kind).next() {
            finding = finding.fact(Fact::names([row.type_name.clone()]));
            finding = finding.evidence("Most are to", type_words(row));
        }
        let row = seen.population.of(kind).next();
        if let Some(culprit) = maker.method().map(blame::method).or_else(|| row.and_then(culprit)) {
            finding = finding.culprit(culprit);
        }
        found.push(finding.advice(
            "Call GCHandle.Free for every GCHandle.Alloc, in a finally or in Dispose: a strong or pinned handle holds its object until then, whoever else has forgotten it.",
        ));
    }
    found
}

/// Too many pinned objects.
fn pinning(seen: &Seen, most: u64) -> Option<Finding> {
    let rows: Vec<&Row> = seen.population.of(HandleKind::Pinned).collect();
    let pinned: u64 = rows.iter().map(|row| row.count).sum();
    let in_the_way: Option<u64> = rows.iter().map(|row| row.in_the_way).sum();
    // Objects in their own heap, and large ones, lie in nobody's way.
    let count = in_the_way.unwrap_or(pinned);
    if count < most {
        return None;
    }
    let confidence = if in_the_way.is_some() { Confidence::High } else { Confidence::Medium };
    let title = format!("{} objects are pinned, so the collector cannot close gaps", count_words(count));
    let mut finding = Finding::new("pinning", Severity::Warning, confidence, title)
        .fact(Fact::measured([("pinned", Value::Count(pinned)), ("in-the-way", Value::Count(count))]));
    let maker = seen.changes.makers.iter().filter(|maker| maker.kind == HandleKind::Pinned);
    let maker = maker.max_by_key(|maker| maker.counts.made).and_then(|maker| Some((maker, maker.method()?)));
    if let Some((maker, method)) = maker {
        finding = finding.culprit(blame::method(method)).evidence(
            "Pins made",
            format!("{} within {}", count_words(maker.counts.made), format_duration(seen.window)),
        );
    } else if let Some(culprit) = rows.first().and_then(|row| culprit(row)) {
        finding = finding.culprit(culprit);
    }
    if let Some(row) = rows.first() {
        finding = finding.fact(Fact::names([row.type_name.clone()]));
        finding = finding.evidence("Most are", type_words(row));
    }
    if in_the_way.is_some() {
        finding = finding.evidence(
            "In the way",
            format!("{} of {} lie in generations 0 to 2", count_words(count), count_words(pinned)),
        );
    }
    Some(
        finding
            .advice("Pin for as long as a call lasts (fixed, MemoryHandle), not for as long as a connection lives.")
            .advice("Buffers that stay pinned belong together: GC.AllocateArray(length, pinned: true) puts them on a heap of their own (from .NET 5 on), or cut them out of one large array."),
    )
}

/// Whom to name where no stack tells who made them: what the handles stand in, or what else refers to their objects, or
/// these.
fn culprit(row: &Row) -> Option<Culprit> {
    let own = row.own.then_some(&row.type_name);
    let name = row.kept_in.as_ref().or(row.holder.as_ref()).map(|(name, _)| name).or(own)?;
    Some(Culprit::new(CulpritKind::Type, name))
}

fn type_words(row: &Row) -> String {
    format!("{} ({})", row.type_name, count_words(row.count))
}

fn kinds(seen: &Seen) -> Section {
    let mut table = Table::new([
        Column::new("kind", "Handles", Unit::Text),
        Column::new("now", "There now", Unit::Count),
        Column::new("made", "Made", Unit::Count),
        Column::new("freed", "Freed of these", Unit::Count),
    ]);
    let there = seen.population.rows.iter().map(|row| row.kind);
    let kinds: BTreeSet<HandleKind> =
        there.chain(seen.changes.makers.iter().map(|maker| maker.kind)).chain(LISTED).collect();
    for kind in kinds {
        let now = seen.population.count(kind);
        let Counts { made, freed } = seen.changes.of_kind(kind);
        // Weak and dependent handles are no roots: the heap does not tell them, only the runtime's tables do.
        let is_known = seen.population.all_kinds || ROOTS.contains(&kind);
        let now = if is_known { Cell::from(now) } else { Cell::Missing };
        table.push([Cell::from(words(kind)), now, Cell::from(made), Cell::from(freed)]);
    }
    Section::new("kinds", "Handles by kind", Body::Table(table))
}

fn types(seen: &Seen, top: usize) -> Section {
    let mut table = Table::new([
        Column::new("kind", "Handles", Unit::Text),
        Column::new("count", "Count", Unit::Count),
        Column::new("bytes", "Bytes of objects", Unit::Bytes),
        Column::new("type", "To objects of", Unit::Text),
        Column::new("holder", "Handle in, or also held by", Unit::Text),
    ]);
    for row in seen.population.rows.iter().take(top) {
        let named = |held: &Option<(String, u64)>| match held {
            Some((name, count)) if *count >= row.count => Some(name.clone()),
            Some((name, count)) => Some(format!("{name} ({})", count_words(*count))),
            None => None,
        };
        let holds = ROOTS.contains(&row.kind);
        let kept_in = named(&row.kept_in).map(|name| format!("handle in {name}"));
        let holder =
            kept_in.or_else(|| named(&row.holder)).or_else(|| holds.then(|| "nothing else".to_owned()));
        table.push([
            Cell::from(words(row.kind)),
            Cell::from(row.count),
            if holds { Cell::from(row.bytes) } else { Cell::Missing },
            Cell::from(row.type_name.clone()),
            holder.map_or(Cell::Missing, Cell::from),
        ]);
    }
    table.omitted_rows = seen.population.rows.len().saturating_sub(top) as u64;
    Section::new("types", "What handles hold", Body::Table(table))
}

fn makers(seen: &Seen, top: usize) -> Section {
    let mut table = Table::new([
        Column::new("kind", "Handles", Unit::Text),
        Column::new("left", "Still there", Unit::Count),
        Column::new("made", "Made", Unit::Count),
        Column::new("method", "Made by", Unit::Text),
    ]);
    // Many stacks lead to one method.
    let mut methods: Vec<(HandleKind, Option<String>, Counts)> = Vec::new();
    for maker in &seen.changes.makers {
        let place = maker.method().map(blame::place);
        let known = methods.iter_mut().find(|(kind, known, _)| *kind == maker.kind && *known == place);
        match known {
            Some((_, _, counts)) => {
                counts.made += maker.counts.made;
                counts.freed += maker.counts.freed;
            }
            None => methods.push((maker.kind, place, maker.counts)),
        }
    }
    methods.sort_by_key(|(_, _, counts)| std::cmp::Reverse((counts.left(), counts.made)));
    let omitted = methods.len().saturating_sub(top);
    for (kind, place, counts) in methods.into_iter().take(top) {
        table.push([
            Cell::from(words(kind)),
            Cell::from(counts.left()),
            Cell::from(counts.made),
            Cell::from(place.unwrap_or_else(|| "(no stack was told)".to_owned())),
        ]);
    }
    table.omitted_rows = omitted as u64;
    Section::new("makers", "Who made handles while we looked", Body::Table(table))
}

fn notes(seen: &Seen) -> Vec<String> {
    let mut notes = Vec::new();
    if seen.changes.older > 0 {
        notes.push(format!(
            "{} handles were freed that had been made before; the runtime does not tell of which kind they were",
            count_words(seen.changes.older)
        ));
    }
    if seen.changes.unfollowed > 0 {
        notes.push(format!(
            "{} handles were made after the first half million and not followed to their end",
            count_words(seen.changes.unfollowed)
        ));
    }
    if seen.window < SHORTEST_PROOF {
        notes.push(
            "the window is too short to say what leaks: give it some seconds with --duration".to_owned(),
        );
    }
    notes
}
