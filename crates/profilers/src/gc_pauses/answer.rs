//! Analysing: from pauses to an answer.

use std::collections::BTreeMap;
use std::time::Duration;

use facts::{Fact, FullCollection, LookFacts, PauseCause, Value};
use model::{
    Body, Cell, Column, Confidence, Finding, Frame, Section, Severity, Table, Unit, format_duration,
};

use super::Paused;
use crate::Settings;
use crate::about::About;
use crate::blame::{is_own, method, own_frame, own_place};
use crate::collections::{GcPause, Style, reason_words};
use crate::lengths::Lengths;
use crate::profiler::Answer;
use crate::ratio::{count_words, fraction, nanos, per_second, percent, percent_words, rate_words};
use crate::stack_section::stack_section;

/// One long pause may be bad luck, such as a machine that was busy with something else; two are a habit.
const LONG_PAUSES: usize = 2;
/// A single pause counts if it is this many times as long as a long one.
const VERY_LONG: u64 = 10;
/// Time in forced collections, in per cent, from which young ones matter: the framework itself asks for some.
const MATTERS: f64 = 2.0;
/// Collections that the program asked for: one may be a program's start or a rare event.
const INDUCED: usize = 2;

pub(super) fn answer(paused: &Paused, about: &About, settings: &Settings) -> Answer {
    let mut sections = Vec::new();
    if !paused.pauses.is_empty() {
        sections.push(generation_table(paused, about));
        sections.push(reason_table(paused));
        sections.extend(longest_table(paused, settings.integer("top")));
        let stacks = stacks_by_time(paused);
        let most = settings.integer("stacks");
        sections.extend(stack_section(
            "stacks",
            "What triggered most pause time",
            Unit::Nanoseconds,
            stacks,
            most,
        ));
    }
    let mut notes = about.notes.clone();
    notes.extend(paused.shortage.note().filter(|_| !paused.pauses.is_empty()));
    if paused.unkept > 0 {
        notes.push(format!("{} more pauses are left out of all numbers", count_words(paused.unkept)));
    }
    if paused.other_stops > 0 {
        notes.push(format!(
            "{} stops of all threads were not for collections (samplers, debuggers, sessions) and are left out",
            count_words(paused.other_stops)
        ));
    }
    Answer {
        summary: summary(paused, about),
        findings: findings(paused, about, settings),
        sections,
        notes,
        cost: about.cost.clone(),
        measured: about.measured,
        end: about.end,
        facts: LookFacts { full_collection: longest_full(paused), ..LookFacts::default() },
    }
}

/// The longest full collection that stopped the program from its begin to its end, and who makes collections necessary.
fn longest_full(paused: &Paused) -> Option<FullCollection> {
    let full = paused.pauses.iter().filter(|pause| cause(pause).is_full() && pause.style == Style::Blocking);
    let ns = full.map(|pause| pause.total_ns).max()?;
    let all: Vec<&GcPause> = paused.pauses.iter().collect();
    Some(FullCollection { ns, place: culprit(paused, &all).filter(|frame| is_own(frame)).cloned() })
}

fn cause(pause: &GcPause) -> PauseCause {
    PauseCause::Collection { generation: pause.generation, blocking: pause.style == Style::Blocking }
}

fn lengths<'a>(pauses: impl IntoIterator<Item = &'a GcPause>) -> Lengths {
    Lengths::of(pauses.into_iter().map(|pause| pause.total_ns))
}

/// Their share of the window in per cent; a pause may last beyond its end.
fn share<'a>(pauses: impl IntoIterator<Item = &'a GcPause>, about: &About) -> f64 {
    let window = nanos(about.measured);
    percent(pauses.into_iter().map(|pause| pause.inside_ns(window)).sum(), window)
}

fn words(nanoseconds: u64) -> String {
    format_duration(Duration::from_nanos(nanoseconds))
}

fn summary(paused: &Paused, about: &About) -> String {
    let window = words(nanos(about.measured));
    let Some(longest) = paused.pauses.iter().max_by_key(|pause| pause.total_ns) else {
        return format!("No garbage collection in {window}.");
    };
    let lengths = lengths(&paused.pauses);
    format!(
        "Stopped for {} of {window} by {} pauses: p50 {}, p99 {}, longest {} ({}).",
        percent_words(share(&paused.pauses, about)),
        count_words(paused.pauses.len() as u64),
        words(lengths.percentile(50)),
        words(lengths.percentile(99)),
        words(longest.total_ns),
        kind_words(longest),
    )
}

/// `gen 2 blocking`.
fn kind_words(pause: &GcPause) -> String {
    let style = match pause.style {
        Style::Blocking => "blocking",
        Style::Background => "background",
    };
    pause.generation.map_or_else(|| style.to_owned(), |generation| format!("gen {generation} {style}"))
}

fn generation_table(paused: &Paused, about: &About) -> Section {
    let mut table = Lengths::table(Column::new("collection", "Collection", Unit::Text));
    let mut groups: BTreeMap<_, Vec<&GcPause>> = BTreeMap::new();
    for pause in &paused.pauses {
        groups.entry((pause.generation, pause.style)).or_default().push(pause);
    }
    let row = |name: String, pauses: &[&GcPause]| {
        lengths(pauses.iter().copied()).row(name, share(pauses.iter().copied(), about))
    };
    for pauses in groups.values() {
        table.push(row(kind_words(pauses[0]), pauses));
    }
    if groups.len() > 1 {
        table.push(row("all".to_owned(), &paused.pauses.iter().collect::<Vec<_>>()));
    }
    Section::new("pauses", "Pauses", Body::Table(table))
}

fn trigger<'a>(paused: &'a Paused, pause: &GcPause) -> &'a [Frame] {
    pause.trigger.and_then(|stack| paused.stacks.get(&stack)).map_or(&[], Vec::as_slice)
}

fn reason_table(paused: &Paused) -> Section {
    let mut table = Table::new([
        Column::new("reason", "Why", Unit::Text),
        Column::new("triggered-by", "Triggered by", Unit::Text),
        Column::new("pauses", "Pauses", Unit::Count),
        Column::new("total", "Total", Unit::Nanoseconds),
        Column::new("max", "Max", Unit::Nanoseconds),
    ]);
    let mut groups: BTreeMap<_, Vec<&GcPause>> = BTreeMap::new();
    for pause in &paused.pauses {
        let place = own_place(trigger(paused, pause));
        groups.entry((reason_words(pause.reason), place)).or_default().push(pause);
    }
    let mut rows: Vec<_> =
        groups.into_iter().map(|(key, pauses)| (key, pauses.len(), lengths(pauses))).collect();
    rows.sort_by_key(|(.., lengths)| std::cmp::Reverse(lengths.total));
    for ((reason, place), count, lengths) in rows.iter().take(MOST_REASONS) {
        table.push([
            Cell::from(*reason),
            Cell::from(place.as_deref()),
            Cell::from(*count as u64),
            Cell::from(lengths.total),
            Cell::from(lengths.longest()),
        ]);
    }
    table.omitted_rows = rows.len().saturating_sub(MOST_REASONS) as u64;
    Section::new("reasons", "What triggered them", Body::Table(table))
}

/// Rows of the table of reasons.
const MOST_REASONS: usize = 8;

fn longest_table(paused: &Paused, top: u64) -> Option<Section> {
    let top = usize::try_from(top).unwrap_or(usize::MAX);
    if top == 0 {
        return None;
    }
    let mut table = Table::new([
        Column::new("at", "At", Unit::Nanoseconds),
        Column::new("pause", "Pause", Unit::Nanoseconds),
        Column::new("stopping", "Stopping", Unit::Nanoseconds),
        Column::new("collection", "Collection", Unit::Text),
        Column::new("reason", "Why", Unit::Text),
        Column::new("triggered-by", "Triggered by", Unit::Text),
    ]);
    let mut longest: Vec<&GcPause> = paused.pauses.iter().collect();
    longest.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then(a.begin_ns.cmp(&b.begin_ns)));
    for pause in longest.iter().take(top) {
        table.push([
            Cell::from(pause.begin_ns),
            Cell::from(pause.total_ns),
            Cell::from(pause.stopping_ns),
            Cell::from(kind_words(pause)),
            Cell::from(reason_words(pause.reason)),
            Cell::from(own_place(trigger(paused, pause))),
        ]);
    }
    table.omitted_rows = longest.len().saturating_sub(top) as u64;
    Some(Section::new("longest", "Longest pauses", Body::Table(table)))
}

fn stacks_by_time(paused: &Paused) -> Vec<(u64, Vec<Frame>)> {
    let mut times: BTreeMap<_, u64> = BTreeMap::new();
    for pause in &paused.pauses {
        if let Some(stack) = pause.trigger {
            *times.entry(stack).or_default() += pause.total_ns;
        }
    }
    let named = |(stack, time)| paused.stacks.get(&stack).map(|frames| (time, frames.clone()));
    times.into_iter().filter_map(named).collect()
}

/// The frame of the program's own code that most of these pauses' time goes back to.
fn culprit<'a>(paused: &'a Paused, pauses: &[&GcPause]) -> Option<&'a Frame> {
    let mut times: BTreeMap<&str, (u64, &Frame)> = BTreeMap::new();
    for pause in pauses {
        if let Some(frame) = own_frame(trigger(paused, pause)) {
            times.entry(&frame.name).or_insert((0, frame)).0 += pause.total_ns;
        }
    }
    times.into_values().max_by_key(|(time, _)| *time).map(|(_, frame)| frame)
}

fn findings(paused: &Paused, about: &About, settings: &Settings) -> Vec<Finding> {
    // A collection that another tool asked for has no code of the program on its stack.
    let by_program = |pause: &&GcPause| pause.is_induced() && trigger(paused, pause).iter().any(is_own);
    let (forced, own): (Vec<&GcPause>, Vec<&GcPause>) = paused.pauses.iter().partition(by_program);
    let forced = if forced.len() < INDUCED { None } else { induced(paused, &forced, about) };
    // One cause, one finding: the lengths of forced collections stand there.
    let rest = if forced.is_some() { own } else { paused.pauses.iter().collect() };
    let long = long_pauses(paused, &rest, about, settings.integer("long").saturating_mul(1_000_000));
    forced.into_iter().chain(long).collect()
}

fn long_pauses(paused: &Paused, pauses: &[&GcPause], about: &About, long_ns: u64) -> Option<Finding> {
    // What a busy machine adds to every pause is not the collector's fault.
    let length = |pause: &GcPause| fraction(pause.total_ns) / paused.shortage.slowdown();
    let long: Vec<&GcPause> =
        pauses.iter().copied().filter(|pause| length(pause) >= fraction(long_ns)).collect();
    let longest = long.iter().max_by_key(|pause| pause.total_ns)?;
    if long.len() < LONG_PAUSES && length(longest) < fraction(long_ns.saturating_mul(VERY_LONG)) {
        return None;
    }
    let lengths = lengths(long.iter().copied());
    let mut finding = Finding::new(
        "long-gc-pauses",
        Severity::Warning,
        Confidence::Medium,
        format!("Garbage collection stops the program for up to {}", words(longest.total_ns)),
    )
    .evidence(
        format!("Pauses of {} and more", words(long_ns)),
        format!("{} in {}, {} together", long.len(), words(nanos(about.measured)), words(lengths.total)),
    )
    .fact(Fact::measured([
        ("pauses", Value::count(long.len())),
        ("total", Value::Nanoseconds(lengths.total)),
        ("window", Value::time(about.measured)),
    ]))
    .fact(Fact::LongestPause { cause: cause(longest), ns: longest.total_ns })
    .evidence("Longest", format!("{}, {}", kind_words(longest), reason_words(longest.reason)));
    let stopping = long.iter().map(|pause| pause.stopping_ns).max().unwrap_or(0);
    if stopping * 2 > longest.total_ns {
        finding = finding.evidence("Until all threads stopped", words(stopping)).advice(
            "Most of it is spent until all threads stop: look for one that is in a long loop or short of CPU.",
        );
    }
    if let Some(frame) = culprit(paused, &long) {
        finding = finding.culprit(method(frame));
    }
    let full = long.iter().filter(|pause| pause.generation == Some(2) && pause.style == Style::Blocking);
    finding = if full.map(|pause| pause.total_ns).sum::<u64>() * 2 > lengths.total {
        finding.advice(
            "Full collections that block take time for every object that lives: let background collection \
             (System.GC.Concurrent, GCLatencyMode.Interactive) do them, and keep fewer small objects.",
        )
    } else {
        finding.advice("Young collections take time for what survives: keep less of what is new alive.")
    };
    Some(finding.advice("`drdotnet run allocations` shows who allocates."))
}

fn induced(paused: &Paused, induced: &[&GcPause], about: &About) -> Option<Finding> {
    let lengths = lengths(induced.iter().copied());
    let rate = per_second(induced.len() as u64, about.measured);
    let rate = if rate < 1.0 {
        format!("{} a minute", rate_words(rate * 60.0))
    } else {
        format!("{} a second", rate_words(rate))
    };
    let share = share(induced.iter().copied(), about);
    let matters = share >= MATTERS || induced.iter().any(|pause| pause.generation == Some(2));
    let (severity, confidence) =
        if matters { (Severity::Warning, Confidence::High) } else { (Severity::Info, Confidence::Medium) };
    let finding = Finding::new(
        "induced-gc",
        severity,
        confidence,
        format!("The program forces garbage collections itself: {rate}"),
    )
    .evidence(
        "Forced",
        format!(
            "{} of {} pauses, {share:.1} % of the time",
            count_words(induced.len() as u64),
            count_words(paused.pauses.len() as u64),
        ),
    )
    .fact(Fact::measured([
        ("forced", Value::count(induced.len())),
        ("pauses", Value::count(paused.pauses.len())),
        ("share-of-time", Value::Percent(share)),
    ]))
    .fact(Fact::LongestPause { cause: cause(longest_of(induced)?), ns: lengths.longest() })
    .evidence("Longest", format!("{}, {}", words(lengths.longest()), kind_words(longest_of(induced)?)))
    .advice(if matters {
        "Remove the call to GC.Collect: the collector knows better when it is worthwhile."
    } else {
        "They cost next to nothing. If no call of GC.Collect is there, the framework asks for them on behalf of memory \
         outside the heap (GC.AddMemoryPressure, unloadable assemblies)."
    });
    Some(match culprit(paused, induced) {
        Some(frame) => finding.culprit(method(frame)),
        None => finding,
    })
}

fn longest_of<'a>(pauses: &[&'a GcPause]) -> Option<&'a GcPause> {
    pauses.iter().copied().max_by_key(|pause| pause.total_ns)
}
