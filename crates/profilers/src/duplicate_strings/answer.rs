//! From strings to an answer.

use model::{
    Body, Cell, Column, Confidence, Fact, Finding, Section, Severity, Table, TargetText, Unit, Value,
};

use super::{Duplicate, Seen};
use crate::Settings;
use crate::about::About;
use crate::profiler::Answer;
use crate::ratio::{bytes_words, count_words, fraction, percent, share_words};

const MEGABYTE: u64 = 1_000_000;
/// Per cent of the heap from which it is more than a hint.
const MUCH: f64 = 25.0;
/// If less of the waste than this, in per cent, is held by more than running methods, that is said.
const LASTING: f64 = 50.0;
/// Strings that evidence names.
const NAMED: usize = 3;
/// Strings of which less was read are an answer with a hole.
const ENOUGH: f64 = 90.0;
/// Of all strings, the part that has to be read, in per cent, to tell something of the rest.
const TELLING: f64 = 20.0;

pub(super) fn answer(seen: &Seen, about: About, settings: &Settings) -> Answer {
    let mut sections = Vec::new();
    if !seen.worst.is_empty() {
        sections.push(strings(seen, settings));
        sections.push(holders(seen));
    }
    let notes = notes(seen);
    about.into_answer(summary(seen), finding(seen, settings).into_iter().collect(), sections, notes)
}

fn summary(seen: &Seen) -> String {
    if seen.strings == 0 {
        return "There are no strings on the heap.".to_owned();
    }
    format!(
        "{} strings take {}, {} of the heap; {} of it would be saved if each was there once.",
        count_words(seen.strings),
        bytes_words(fraction(seen.string_bytes)),
        share_words(seen.string_bytes, seen.heap_bytes),
        bytes_words(fraction(seen.wasted)),
    )
}

/// How many strings there are for each that was read. Those that a collection moved before they could be read are copies as often as
/// the others; of few that were read nothing follows for the rest.
fn for_one_read(seen: &Seen) -> f64 {
    match percent(seen.read, seen.strings) {
        read if read >= TELLING => 100.0 / read,
        _ => 1.0,
    }
}

fn finding(seen: &Seen, settings: &Settings) -> Option<Finding> {
    let share = percent(seen.wasted, seen.heap_bytes);
    let is_ill =
        seen.wasted >= settings.integer("least") * MEGABYTE && share >= fraction(settings.integer("share"));
    if !is_ill {
        return None;
    }
    let is_much = |part: u64| percent(part, seen.heap_bytes) * for_one_read(seen) >= MUCH;
    // What running methods hold comes and goes.
    let severity =
        if is_much(seen.wasted) && is_much(seen.lasting) { Severity::Warning } else { Severity::Info };
    let wasted = bytes_words(fraction(seen.wasted));
    let title = format!("{wasted} are copies of strings that are there already");
    let measured = Fact::measured([
        ("wasted", Value::Bytes(seen.wasted)),
        ("heap", Value::Bytes(seen.heap_bytes)),
        ("different-strings", Value::Count(seen.repeated)),
        ("strings", Value::Count(seen.strings)),
        ("read", Value::Count(seen.read)),
    ]);
    let finding = Finding::new("duplicate-strings", severity, Confidence::High, title).fact(measured);
    let mut finding = finding.evidence(
        "Wasted",
        format!("{wasted}, {share:.0} % of the heap, by {} different strings", count_words(seen.repeated)),
    );
    if percent(seen.read, seen.strings) < ENOUGH {
        let read = format!("{} of {} strings", count_words(seen.read), count_words(seen.strings));
        finding =
            finding.evidence("Read", format!("{read}; the others were moved by a collection meanwhile"));
    }
    if percent(seen.lasting, seen.wasted) < LASTING {
        let passing = bytes_words(fraction(seen.wasted - seen.lasting.min(seen.wasted)));
        finding = finding.evidence("Passing", format!("{passing} of it is held by running methods alone"));
    }
    for worst in seen.worst.iter().take(NAMED) {
        let copies = count_words(worst.copies);
        let bytes = bytes_words(fraction(worst.wasted));
        finding =
            finding.evidence("String", format!("{} ({copies} times, {bytes} wasted)", text(worst, settings)));
    }
    if let Some(held) = seen.held.first() {
        finding = finding.fact(Fact::names(held.names.iter().cloned()));
        finding = finding.evidence("Held by", format!("{}: {} copies", held.path, count_words(held.copies)));
    }
    if let Some(culprit) = seen.held.iter().find_map(|held| held.culprit.clone()) {
        finding = finding.culprit(culprit);
    }
    Some(
        finding
            .advice("Look values up in a small table when they are read (a Dictionary<string, string>, or a pool for the time of an import), and keep the copy from there: all later ones are collected.")
            .advice("string.Intern does the same for the life of the process; take it only for few values that never end. Values from a fixed set are better kept as an enum or a number.")
            .advice("A parser that cuts strings out of a text makes a new one each time: compare a ReadOnlySpan<char> with known values first."),
    )
}

/// A string in quotes, or what may be shown of it.
fn text(worst: &Duplicate, settings: &Settings) -> String {
    match &worst.text {
        Some(text) if text.is_empty() => "the empty string".to_owned(),
        Some(text) => TargetText::new(text).shown(settings.redaction()),
        None => "(moved before it could be read again)".to_owned(),
    }
}

fn strings(seen: &Seen, settings: &Settings) -> Section {
    let mut table = Table::new([
        Column::new("wasted", "Wasted", Unit::Bytes),
        Column::new("copies", "Copies", Unit::Count),
        Column::new("size", "Each", Unit::Bytes),
        Column::new("length", "Letters", Unit::Count),
        Column::new("text", "String", Unit::Text),
        Column::new("held", "Held by", Unit::Text),
    ]);
    for worst in &seen.worst {
        let more = if worst.others == 0 {
            String::new()
        } else {
            format!("; {} in other ways", count_words(worst.others))
        };
        let held = worst.held.iter().map(|held| match worst.held.len() {
            1 if worst.others == 0 => held.path.clone(),
            _ => format!("{}: {}", count_words(held.copies), held.path),
        });
        let held: Vec<String> = held.collect();
        table.push([
            Cell::from(worst.wasted),
            Cell::from(worst.copies),
            Cell::from(worst.size()),
            Cell::from(worst.letters),
            Cell::from(text(worst, settings)),
            Cell::from(format!("{}{more}", held.join("; "))),
        ]);
    }
    table.omitted_rows = seen.repeated.saturating_sub(seen.worst.len() as u64);
    Section::new("strings", "Strings that are there many times", Body::Table(table))
}

fn holders(seen: &Seen) -> Section {
    let mut table = Table::new([
        Column::new("copies", "Copies", Unit::Count),
        Column::new("held", "Held by", Unit::Text),
    ]);
    for held in &seen.held {
        table.push([Cell::from(held.copies), Cell::from(held.path.clone())]);
    }
    Section::new("holders", "Who holds strings of which there are several", Body::Table(table))
}

fn notes(seen: &Seen) -> Vec<String> {
    let mut notes = Vec::new();
    let missing = seen.strings.saturating_sub(seen.read);
    let who =
        if seen.by_agent { "by an agent, because this user may not read its memory" } else { "from outside" };
    if seen.strings > 0 {
        notes.push(format!(
            "{} of {} strings were read ({who}, while the process ran): {} different ones",
            count_words(seen.read),
            count_words(seen.strings),
            count_words(seen.different),
        ));
    }
    if missing > 0 {
        let little = percent(seen.read, seen.strings) < ENOUGH;
        let advice = if little { "; ask again when the process allocates less" } else { "" };
        notes.push(format!(
            "{} strings were moved or freed by a collection before they could be read, and are not among the copies{advice}",
            count_words(missing)
        ));
    }
    notes
}
