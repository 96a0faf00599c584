//! Analysing: from picked allocations to an answer.

use std::collections::HashMap;
use std::time::Duration;

use model::{
    Body, Cell, Column, Confidence, Fact, Finding, Frame, Section, Severity, Table, Unit, Value,
    format_duration,
};

use super::watch::{Allocated, Picked, Picks};
use crate::Settings;
use crate::about::About;
use crate::blame::{method, own_frame, own_place, place};
use crate::profiler::Answer;
use crate::ratio::{bytes_words, fraction, nanos, per_second, percent, percent_words, rate_words};
use crate::stack_section::stack_section;

/// A row with fewer picks and next to no bytes says nothing; it is only counted.
const FEWEST_PICKS: u64 = 4;
/// Collections that must be seen before they say anything about a program's habits.
const FEWEST_COLLECTIONS: usize = 3;

pub(super) fn answer(allocated: &Allocated, about: &About, settings: &Settings) -> Answer {
    let total = total(allocated);
    let types = grouped(allocated, |name, _| Some(name.to_owned()));
    let places = grouped(allocated, |_, frames| own_place(frames));
    let mut sections = Vec::new();
    if total.count > 0 {
        let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
        let table = |id, title, key: (&str, &str), rows| {
            Section::new(id, title, Body::Table(table(key, rows, allocated, &total, about, top)))
        };
        sections.push(table("methods", "By method", ("method", "Allocated by"), &places));
        sections.push(table("types", "By type", ("type", "Type"), &types));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes are not negative")]
        let stacks = allocated.picked.iter().map(|(_, frames, picked)| (picked.bytes as u64, frames.clone()));
        let most = settings.integer("stacks");
        sections.extend(stack_section("stacks", "Where most is allocated", Unit::Bytes, stacks, most));
    }
    Answer {
        summary: summary(&total, &places, allocated, about),
        findings: pressure(allocated, &total, &places, &types, about, settings).into_iter().collect(),
        sections,
        notes: notes(allocated, &total, about),
        cost: about.cost.clone(),
        measured: about.measured,
        end: about.end,
        ..Answer::default()
    }
}

/// Allocations of one type, or by one method.
struct Row<'a> {
    name: Option<String>,
    /// Of the largest part.
    frames: &'a [Frame],
    picked: Picked,
}

fn grouped(allocated: &Allocated, key: impl Fn(&str, &[Frame]) -> Option<String>) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut index = HashMap::new();
    for (type_name, frames, picked) in &allocated.picked {
        let name = key(type_name, frames);
        let row = *index.entry(name.clone()).or_insert_with(|| {
            rows.push(Row { name, frames, picked: Picked::default() });
            rows.len() - 1
        });
        rows[row].picked.add(picked);
    }
    rows.sort_by(|a, b| b.picked.bytes.total_cmp(&a.picked.bytes));
    rows
}

fn total(allocated: &Allocated) -> Picked {
    let mut total = allocated.others;
    for (_, _, picked) in &allocated.picked {
        total.add(picked);
    }
    total
}

fn rate(bytes: f64, about: &About) -> f64 {
    if about.measured.is_zero() { 0.0 } else { bytes / about.measured.as_secs_f64() }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

fn pause_ns(allocated: &Allocated, about: &About) -> u64 {
    // Collections that the program forces are not the price of its allocations.
    let of_allocation = allocated.pauses.iter().filter(|pause| !pause.is_induced());
    of_allocation.map(|pause| pause.inside_ns(nanos(about.measured))).sum()
}

fn summary(total: &Picked, places: &[Row<'_>], allocated: &Allocated, about: &About) -> String {
    let window = format_duration(about.measured);
    let Some(first) = places.first() else {
        return format!(
            "Next to nothing was allocated in {window}: less than the 100 kB that the runtime tells of."
        );
    };
    let place = first.name.as_deref().unwrap_or("a method that is not known");
    // Ticks count every byte; only whose they are is a guess.
    let error = match allocated.picks {
        Picks::Ticks => String::new(),
        Picks::Random => format!(" (± {:.0} %)", total.error_percent().max(1.0)),
    };
    format!(
        "{} a second allocated{error}, {:.0} % in {place}; collections stop the program for {} of the time.",
        bytes_words(rate(total.bytes, about)),
        share(first.picked.bytes, total.bytes),
        percent_words(percent(pause_ns(allocated, about), nanos(about.measured))),
    )
}

fn table(
    (id, title): (&str, &str),
    rows: &[Row<'_>],
    allocated: &Allocated,
    total: &Picked,
    about: &About,
    top: usize,
) -> Table {
    let mut table = Table::new([
        Column::new(id, title, Unit::Text),
        Column::new("bytes", "Bytes", Unit::Bytes),
        Column::new("bytes-per-second", "Per second", Unit::Bytes),
        Column::new("share-percent", "Share", Unit::Percent),
        Column::new("error-percent", "±", Unit::Percent),
        Column::new("picked", "Seen", Unit::Count),
    ]);
    let mut push = |name: Option<&str>, picked: &Picked| {
        table.push([
            Cell::from(name),
            Cell::from(picked.bytes.round()),
            Cell::from(rate(picked.bytes, about)),
            Cell::from(share(picked.bytes, total.bytes)),
            Cell::from(picked.error_percent()),
            Cell::from(picked.count),
        ]);
    };
    let told =
        |row: &&Row<'_>| row.picked.count >= FEWEST_PICKS || share(row.picked.bytes, total.bytes) >= 0.1;
    let shown = rows.iter().filter(told).take(top);
    let mut count = 0;
    for row in shown {
        count += 1;
        push(row.name.as_deref(), &row.picked);
    }
    if allocated.others.count > 0 {
        push(Some("others, too many to tell apart"), &allocated.others);
    }
    table.omitted_rows = rows.len().saturating_sub(count) as u64;
    table
}

fn pressure(
    allocated: &Allocated,
    total: &Picked,
    places: &[Row<'_>],
    types: &[Row<'_>],
    about: &About,
    settings: &Settings,
) -> Option<Finding> {
    let stopped = percent(pause_ns(allocated, about), nanos(about.measured));
    let of_allocation = allocated.pauses.iter().filter(|pause| !pause.is_induced()).count();
    if stopped < fraction(settings.integer("gc-share")) || of_allocation < FEWEST_COLLECTIONS {
        return None;
    }
    let [young, middle, old] = allocated.begun.map(|count| rate_words(per_second(count, about.measured)));
    let mut finding = Finding::new(
        "allocation-pressure",
        Severity::Warning,
        Confidence::High,
        format!("Allocation keeps the collector busy: the program is stopped {stopped:.0} % of the time"),
    );
    if let Some(frame) = places.iter().find_map(|row| own_frame(row.frames)) {
        finding = finding.culprit(method(frame));
    }
    finding = finding
        .fact(Fact::measured([
            ("allocated", Value::BytesPerSecond(rate(total.bytes, about))),
            ("paused", Value::Nanoseconds(pause_ns(allocated, about))),
            ("window", Value::time(about.measured)),
        ]))
        .fact(Fact::names(types.first().and_then(|row| row.name.as_deref())))
        .evidence("Allocated", format!("{} a second", bytes_words(rate(total.bytes, about))))
        .evidence("Collections a second", format!("gen 0: {young}, gen 1: {middle}, gen 2: {old}"))
        .evidence("Time in pauses", format_duration(Duration::from_nanos(pause_ns(allocated, about))));
    let survived = share(fraction(allocated.survived_bytes), total.bytes).min(100.0);
    if total.bytes > 0.0 {
        finding = finding.evidence("Survived a collection", format!("{survived:.0} % of what was allocated"));
    }
    if let Some(row) = types.first() {
        let name = row.name.as_deref().unwrap_or_default();
        finding = finding.evidence(
            "Most of it",
            format!("{name}, {:.0} % of the bytes", share(row.picked.bytes, total.bytes)),
        );
    }
    if allocated.large_bytes * 2.0 > total.bytes {
        finding = finding
            .advice("Most are large objects, which only full collections free: reuse them (ArrayPool).");
    }
    let who = places.first().and_then(|row| own_frame(row.frames)).map_or_else(String::new, place);
    let where_from = if who.is_empty() { String::new() } else { format!(" in {who}") };
    Some(
        finding
            .advice(format!("Allocate less{where_from}: reuse objects, use structs or spans, avoid copies."))
            .advice("Let go of objects sooner: those that die young cost next to nothing."),
    )
}

fn notes(allocated: &Allocated, total: &Picked, about: &About) -> Vec<String> {
    let mut notes = about.notes.clone();
    if allocated.by_session.count > 0 {
        notes.push(format!(
            "about {} that the runtime allocated to begin this session are left out",
            bytes_words(allocated.by_session.bytes)
        ));
    }
    if total.count == 0 {
        return notes;
    }
    notes.push(match allocated.picks {
        Picks::Ticks => "bytes are estimates: the runtime tells of the one object that goes over every 100 kB, and its \
                         type and stack stand for all of them; ± is one standard deviation, if allocations come in no \
                         fixed rhythm"
            .to_owned(),
        Picks::Random => "bytes are estimates from allocations picked at random, one in 100 kB on average; ± is one \
                          standard deviation"
            .to_owned(),
    });
    notes
}
