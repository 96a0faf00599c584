//! Analysing: from stops to an answer.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{
    Body, Cell, Column, Confidence, Fact, Finding, Section, Severity, Table, Unit, Value, format_duration,
};

use super::{Stop, Stopped, Why};
use crate::Settings;
use crate::about::About;
use crate::lengths::Lengths;
use crate::profiler::Answer;
use crate::ratio::{count_words, fraction, nanos, percent, percent_words};

/// One long pause may be bad luck, such as a machine that was busy with something else; two are a habit.
const LONG_PAUSES: usize = 2;
/// A single pause counts if it is this many times as long as a long one.
const VERY_LONG: u64 = 10;
/// Stops by others: a tool that looks once, or twice, is welcome.
const FOREIGN: usize = 20;

pub(super) fn answer(stopped: &Stopped, about: &About, settings: &Settings) -> Answer {
    let mut sections = Vec::new();
    if !stopped.stops.is_empty() {
        sections.push(reason_table(stopped, about));
        sections.extend(longest_table(stopped, settings.integer("top")));
    }
    let mut notes = about.notes.clone();
    notes.extend(stopped.shortage.note().filter(|_| !stopped.stops.is_empty()));
    if stopped.unkept > 0 {
        notes.push(format!("{} more stops are left out of all numbers", count_words(stopped.unkept)));
    }
    let long = long_pauses(stopped, about, settings.integer("long").saturating_mul(1_000_000));
    let foreign = foreign(stopped, about, settings.integer("foreign"));
    Answer {
        summary: summary(stopped, about),
        findings: long.into_iter().chain(foreign).collect(),
        sections,
        notes,
        cost: about.cost.clone(),
        measured: about.measured,
        end: about.end,
        ..Answer::default()
    }
}

fn words(nanoseconds: u64) -> String {
    format_duration(Duration::from_nanos(nanoseconds))
}

fn lengths<'a>(stops: impl IntoIterator<Item = &'a Stop>) -> Lengths {
    Lengths::of(stops.into_iter().map(|stop| stop.total_ns))
}

/// Their share of the window in per cent; a stop may last beyond its end.
fn share<'a>(stops: impl IntoIterator<Item = &'a Stop>, about: &About) -> f64 {
    let window = nanos(about.measured);
    let inside = |stop: &Stop| stop.total_ns.min(window.saturating_sub(stop.begin_ns));
    percent(stops.into_iter().map(inside).sum(), window)
}

fn summary(stopped: &Stopped, about: &About) -> String {
    let window = words(nanos(about.measured));
    let Some(longest) = stopped.stops.iter().max_by_key(|stop| stop.total_ns) else {
        return format!("All threads ran through {window} without a stop.");
    };
    let all = lengths(&stopped.stops);
    let pauses = if stopped.stops.len() == 1 { "pause" } else { "pauses" };
    format!(
        "Stopped for {} of {window} by {} {pauses}: p50 {}, p99 {}, longest {} ({}).",
        percent_words(share(&stopped.stops, about)),
        count_words(stopped.stops.len() as u64),
        words(all.percentile(50)),
        words(all.percentile(99)),
        words(longest.total_ns),
        longest.why.words(),
    )
}

fn reason_table(stopped: &Stopped, about: &About) -> Section {
    let mut table = Lengths::table(Column::new("reason", "Stopped for", Unit::Text));
    let mut groups: BTreeMap<Why, Vec<&Stop>> = BTreeMap::new();
    for stop in &stopped.stops {
        groups.entry(stop.why).or_default().push(stop);
    }
    let row = |name: String, stops: &[&Stop]| {
        lengths(stops.iter().copied()).row(name, share(stops.iter().copied(), about))
    };
    for (why, stops) in &groups {
        table.push(row(why.words(), stops));
    }
    if groups.len() > 1 {
        table.push(row("all".to_owned(), &stopped.stops.iter().collect::<Vec<_>>()));
    }
    Section::new("reasons", "What for", Body::Table(table))
}

fn longest_table(stopped: &Stopped, top: u64) -> Option<Section> {
    let top = usize::try_from(top).unwrap_or(usize::MAX);
    if top == 0 {
        return None;
    }
    let mut table = Table::new([
        Column::new("at", "At", Unit::Nanoseconds),
        Column::new("pause", "Pause", Unit::Nanoseconds),
        Column::new("stopping", "Stopping", Unit::Nanoseconds),
        Column::new("reason", "Stopped for", Unit::Text),
        Column::new("detail", "Why", Unit::Text),
        Column::new("by", "By", Unit::Text),
    ]);
    let mut longest: Vec<&Stop> = stopped.stops.iter().collect();
    longest.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then(a.begin_ns.cmp(&b.begin_ns)));
    for stop in longest.iter().take(top) {
        table.push([
            Cell::from(stop.begin_ns),
            Cell::from(stop.total_ns),
            Cell::from(stop.stopping_ns),
            Cell::from(stop.why.words()),
            Cell::from(stop.detail),
            Cell::from(stop.by.as_deref()),
        ]);
    }
    table.omitted_rows = longest.len().saturating_sub(top) as u64;
    Some(Section::new("longest", "Longest pauses", Body::Table(table)))
}

fn long_pauses(stopped: &Stopped, about: &About, long_ns: u64) -> Option<Finding> {
    // What a busy machine adds to every pause is not the runtime's fault.
    let length = |stop: &Stop| fraction(stop.total_ns) / stopped.shortage.slowdown();
    let long: Vec<&Stop> = stopped.stops.iter().filter(|stop| length(stop) >= fraction(long_ns)).collect();
    let longest = long.iter().max_by_key(|stop| stop.total_ns)?;
    if long.len() < LONG_PAUSES && length(longest) < fraction(long_ns.saturating_mul(VERY_LONG)) {
        return None;
    }
    let mut finding = Finding::new(
        "long-runtime-pauses",
        Severity::Warning,
        Confidence::High,
        format!("All threads are stopped for up to {}", words(longest.total_ns)),
    )
    .evidence(
        format!("Pauses of {} and more", words(long_ns)),
        format!(
            "{} in {}, {} together",
            long.len(),
            words(nanos(about.measured)),
            words(lengths(long.iter().copied()).total)
        ),
    )
    .fact(Fact::measured([
        ("pauses", Value::count(long.len())),
        ("total", Value::Nanoseconds(lengths(long.iter().copied()).total)),
        ("window", Value::time(about.measured)),
    ]))
    .fact(Fact::LongestPause { cause: longest.why.cause(), ns: longest.total_ns })
    .evidence("Longest", longest.why.words());
    if let Some(by) = &longest.by {
        finding = finding.evidence("By", by.clone());
    }
    let stopping: u64 = long.iter().map(|stop| stop.stopping_ns).sum();
    if stopping * 2 > long.iter().map(|stop| stop.total_ns).sum::<u64>() {
        finding = finding.evidence("Until all threads had stopped", words(longest.stopping_ns)).advice(
            "Most of it is spent until all threads stop: look for one in a long loop, in a long call into the kernel \
             with memory pinned, or short of CPU.",
        );
    }
    Some(if matches!(longest.why, Why::Collection(..)) {
        finding.advice("`drdotnet run gc-pauses` tells what makes the collector work, and who.")
    } else {
        finding.advice("It is no collection: see who stops the process in the table, and end that tool.")
    })
}

fn foreign(stopped: &Stopped, about: &About, most: u64) -> Option<Finding> {
    let is_foreign = |stop: &&Stop| !matches!(stop.why, Why::Collection(..) | Why::Ending);
    let stops: Vec<&Stop> = stopped.stops.iter().filter(is_foreign).collect();
    // A busy machine makes them longer, and that is nobody's fault.
    let share = share(stops.iter().copied(), about) / stopped.shortage.slowdown();
    if stops.len() < FOREIGN || share < fraction(most) {
        return None;
    }
    let mut by: BTreeMap<(Why, Option<&str>), u64> = BTreeMap::new();
    for stop in &stops {
        *by.entry((stop.why, stop.by.as_deref())).or_default() += stop.total_ns;
    }
    let ((why, who), _) = by.into_iter().max_by_key(|(_, total)| *total)?;
    let finding = Finding::new(
        "stopped-by-tools",
        Severity::Warning,
        Confidence::Medium,
        format!("Stops that are not for collections take {share:.1} % of the time"),
    )
    .fact(Fact::measured([("stops", Value::count(stops.len())), ("share-of-time", Value::Percent(share))]))
    .evidence("Stops", format!("{}, most of the time: {}", count_words(stops.len() as u64), why.words()))
    .advice("A profiler, debugger or sampler is at work in the process: end it, or let it look less often.");
    Some(match who {
        Some(who) => finding.evidence("Stopped by", who),
        None => finding,
    })
}
