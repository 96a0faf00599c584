//! Analysing: from throws to an answer.

use std::time::Duration;

use model::{
    Body, Cell, Column, Confidence, Fact, Finding, Frame, Redaction, Section, Severity, Table, Unit, Value,
    WindowEnd, format_duration,
};

use super::watch::{Fatal, Thrown, Throws};
use crate::Settings;
use crate::about::About;
use crate::blame::{UNNAMED, is_own, method, own_frame, own_place, place, throwing_frame};
use crate::profiler::Answer;
use crate::ratio::{count_words, fraction, nanos, per_second, percent, rate_words, share_words};
use crate::stack_section::stack_section;

pub(super) fn answer(thrown: &Thrown, about: &About, settings: &Settings) -> Answer {
    let rows = by_place(thrown);
    let total = total(thrown);
    let mut sections = Vec::new();
    if total.count > 0 {
        let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
        sections.push(place_table(&rows, thrown, about, top));
        sections.push(message_table(thrown, top, settings.redaction()));
        sections.extend(handler_table(thrown, top));
        let stacks = thrown.throws.iter().map(|(_, frames, throws)| (throws.count, frames.clone()));
        sections.extend(stack_section(
            "stacks",
            "Where most are thrown",
            Unit::Count,
            stacks,
            settings.integer("stacks"),
        ));
    }
    Answer {
        summary: summary(&rows, &total, about),
        findings: findings(thrown, &rows, &total, about, settings),
        sections,
        notes: notes(about),
        cost: about.cost.clone(),
        measured: about.measured,
        end: about.end,
        ..Answer::default()
    }
}

/// Throws of one type at one place of the program's own code, whatever called it.
struct Row<'a> {
    type_name: &'a str,
    frames: &'a [Frame],
    place: Option<String>,
    throws: Throws,
}

fn by_place(thrown: &Thrown) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut index = std::collections::HashMap::new();
    for (type_name, frames, throws) in &thrown.throws {
        let place = own_place(frames);
        let row = *index.entry((type_name.as_str(), place.clone())).or_insert_with(|| {
            rows.push(Row { type_name, frames, place, throws: Throws::default() });
            rows.len() - 1
        });
        add(&mut rows[row].throws, throws);
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.throws.count));
    rows
}

fn add(sum: &mut Throws, more: &Throws) {
    sum.count += more.count;
    sum.caught += more.caught;
    sum.rethrown += more.rethrown;
    sum.nested += more.nested;
    sum.dispatch_ns += more.dispatch_ns;
}

fn total(thrown: &Thrown) -> Throws {
    let mut total = thrown.other_throws.clone();
    for (_, _, throws) in &thrown.throws {
        add(&mut total, throws);
    }
    total
}

fn summary(rows: &[Row<'_>], total: &Throws, about: &About) -> String {
    let window = format_duration(about.measured);
    let Some(first) = rows.first() else {
        return format!("No exception was thrown in {window}.");
    };
    let rate = rate_words(per_second(total.count, about.measured));
    let exceptions = if total.count == 1 { "exception" } else { "exceptions" };
    let share = share_words(first.throws.count, total.count);
    let place = first.place.as_deref().unwrap_or("a method that is not known");
    format!(
        "{} {exceptions} in {window} ({rate} a second), {share} {} in {place}.",
        count_words(total.count),
        first.type_name,
    )
}

fn place_table(rows: &[Row<'_>], thrown: &Thrown, about: &About, top: usize) -> Section {
    let mut table = Table::new([
        Column::new("type", "Exception", Unit::Text),
        Column::new("thrown-by", "Thrown by", Unit::Text),
        Column::new("count", "Count", Unit::Count),
        Column::new("per-second", "Per second", Unit::Count),
        Column::new("caught-percent", "Caught", Unit::Percent),
    ]);
    let cells = |type_name: &str, place: Option<&str>, throws: &Throws| {
        [
            Cell::from(type_name),
            Cell::from(place),
            Cell::from(throws.count),
            Cell::from(per_second(throws.count, about.measured)),
            Cell::from(percent(throws.caught, throws.count)),
        ]
    };
    for row in rows.iter().take(top) {
        table.push(cells(row.type_name, row.place.as_deref(), &row.throws));
    }
    if thrown.other_throws.count > 0 {
        table.push(cells("others", Some("too many places to tell apart"), &thrown.other_throws));
    }
    table.omitted_rows = rows.len().saturating_sub(top) as u64;
    Section::new("exceptions", "Exceptions", Body::Table(table))
}

fn message_table(thrown: &Thrown, top: usize, redaction: Redaction) -> Section {
    let mut table = Table::new([
        Column::new("message", "Message", Unit::Text),
        Column::new("type", "Exception", Unit::Text),
        Column::new("thrown-by", "Thrown by", Unit::Text),
        Column::new("count", "Count", Unit::Count),
    ]);
    for said in thrown.messages.iter().take(top) {
        table.push([
            Cell::from(said.message.shown(redaction)),
            Cell::from(short_type(&said.type_name)),
            Cell::from(said.place.as_deref()),
            Cell::from(said.count),
        ]);
    }
    if thrown.other_messages > 0 {
        table.push([Cell::from("others"), Cell::Missing, Cell::Missing, Cell::from(thrown.other_messages)]);
    }
    table.omitted_rows = thrown.messages.len().saturating_sub(top) as u64;
    Section::new("messages", "Messages (# stands for numbers that differ)", Body::Table(table))
}

/// The namespace stands in the table above; here the message needs the room.
fn short_type(name: &str) -> &str {
    let generic = name.find(['`', '[', '<']).unwrap_or(name.len());
    name[..generic].rfind('.').map_or(name, |dot| &name[dot + 1..])
}

fn handler_table(thrown: &Thrown, top: usize) -> Option<Section> {
    if thrown.handlers.is_empty() {
        return None;
    }
    let mut table = Table::new([
        Column::new("caught-by", "Caught by", Unit::Text),
        Column::new("count", "Count", Unit::Count),
    ]);
    for (frame, count) in thrown.handlers.iter().take(top) {
        table.push([Cell::from(place(frame)), Cell::from(*count)]);
    }
    table.omitted_rows = thrown.handlers.len().saturating_sub(top) as u64;
    Some(Section::new("handlers", "Handlers", Body::Table(table)))
}

fn findings(
    thrown: &Thrown,
    rows: &[Row<'_>],
    total: &Throws,
    about: &About,
    settings: &Settings,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    if about.end == WindowEnd::TargetExited
        && let Some(fatal) = &thrown.last_in_flight
    {
        findings.push(unhandled(fatal, settings.redaction()));
    }
    let storm = settings.integer("storm");
    let rate = per_second(total.count, about.measured);
    // A window shorter than a second must hold as many as a storm has in a second.
    if rate >= fraction(storm) && total.count >= storm && !rows.is_empty() {
        findings.push(storm_finding(thrown, rows, total, about, settings.redaction()));
    }
    findings
}

fn notes(about: &About) -> Vec<String> {
    let mut notes = about.notes.clone();
    if about.end == WindowEnd::TargetExited {
        notes.push(
            "what a process throws in its last tenth of a second may not have been sent: if an exception ended it, \
             the runtime printed that to its standard error"
                .to_owned(),
        );
    }
    notes
}

fn unhandled(fatal: &Fatal, redaction: Redaction) -> Finding {
    let finding = Finding::new(
        "unhandled-exception",
        Severity::Critical,
        Confidence::Medium,
        format!("The process ended while {} was in flight", fatal.type_name),
    )
    .evidence("Message", fatal.message.shown(redaction))
    .evidence("Handler", "none was seen before the end")
    .advice("Read the last lines of the program's standard error: the runtime prints what ended it.");
    match own_frame(&fatal.frames) {
        Some(frame) => finding.culprit(method(frame)),
        None => finding,
    }
}

fn storm_finding(
    thrown: &Thrown,
    rows: &[Row<'_>],
    total: &Throws,
    about: &About,
    redaction: Redaction,
) -> Finding {
    let rate = rate_words(per_second(total.count, about.measured));
    let worst = &rows[0];
    let share = share_words(worst.throws.count, total.count);
    let mut finding = Finding::new(
        "exception-storm",
        Severity::Warning,
        Confidence::High,
        format!("{rate} exceptions a second are thrown, {share} {}", worst.type_name),
    );
    finding = finding.fact(Fact::measured([
        ("thrown", Value::Count(total.count)),
        ("of-this-type", Value::Count(worst.throws.count)),
        ("caught", Value::Count(total.caught)),
        ("time-to-handlers", Value::Nanoseconds(total.dispatch_ns)),
        ("window", Value::time(about.measured)),
    ]));
    if let Some(frame) = own_frame(worst.frames) {
        finding = finding.culprit(method(frame));
    }
    if let Some(frame) = throwing_frame(worst.frames)
        && !is_own(frame)
    {
        finding =
            finding.fact(Fact::names([frame.name.clone()])).evidence("Thrown inside", frame.name.clone());
    }
    let message =
        thrown.messages.iter().find(|said| said.type_name == worst.type_name && said.place == worst.place);
    if let Some(said) = message.filter(|said| !said.message.is_empty()) {
        finding = finding.evidence("Message", said.message.shown(redaction));
    }
    finding = match thrown.handlers.first().filter(|_| total.caught * 2 > total.count) {
        Some((handler, _)) if handler.name != UNNAMED => finding.evidence(
            "Caught",
            format!("{}, most of them in {}", share_words(total.caught, total.count), place(handler)),
        ),
        _ => finding.evidence("Caught", share_words(total.caught, total.count)),
    };
    if let Some(each) = total.dispatch_ns.checked_div(total.caught) {
        finding = finding.evidence(
            "Time",
            format!(
                "{} from throw to handler, {:.1} % of the time of one thread",
                format_duration(Duration::from_nanos(each)),
                percent(total.dispatch_ns, nanos(about.measured)),
            ),
        );
    }
    if total.rethrown > 0 {
        finding = finding.evidence("Thrown again by a handler", count_words(total.rethrown));
    }
    finding
        .advice("Test for the case before it fails (TryParse, TryGetValue, File.Exists) instead of catching.")
        .advice("If it is an error, log it once and stop trying: storms hide the exception that matters.")
}
