//! From two looks to an answer.

use std::time::Duration;

use model::{
    Body, Cell, Column, Confidence, Fact, Finding, Section, Severity, Table, Unit, Value, format_duration,
};

use super::look::{Finalizer, Seen, Spent};
use crate::Settings;
use crate::blame;
use crate::profiler::Answer;
use crate::ratio::{bytes_words, count_words, fraction, per_second};
use crate::stack_section::stack_section;

/// Looks that are closer together prove nothing.
const SHORTEST_PROOF: Duration = Duration::from_millis(900);
/// A queue that would be empty within this time is worked off.
const SOON: Duration = Duration::from_secs(10);

/// What the evidence says of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It stands in a finalizer and does nothing.
    Blocked,
    /// It runs finalizers, and more and more wait for it.
    Behind,
}

fn verdict(seen: &Seen, least: u64) -> Option<Verdict> {
    if seen.window < SHORTEST_PROOF {
        return None;
    }
    let runs = |look: &Option<Finalizer>| look.as_ref().is_some_and(|thread| thread.runs.is_some());
    let (_, now) = seen.waiting;
    if seen.unmoved && runs(&seen.now) {
        return Some(Verdict::Blocked);
    }
    // A collection always finds some; a thread that is at it in both looks and will not be done soon is behind.
    let soon = time_to_end(seen).is_some_and(|time| time < SOON);
    (runs(&seen.before) && runs(&seen.now) && now >= least && !soon).then_some(Verdict::Behind)
}

/// How long the thread would need for all that wait if no more came; none if they did not become fewer.
fn time_to_end(seen: &Seen) -> Option<Duration> {
    let (before, now) = seen.waiting;
    let done = before.checked_sub(now).filter(|done| *done > 0)?;
    Some(Duration::from_secs_f64(fraction(now) / per_second(done, seen.window).max(f64::MIN_POSITIVE)))
}

pub(super) fn answer(seen: &Seen, spent: Spent, settings: &Settings) -> Answer {
    let verdict = verdict(seen, settings.integer("least"));
    let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
    let mut sections = Vec::new();
    if !seen.rows.is_empty() {
        sections.push(table(seen, top));
    }
    let stack = seen.now.iter().map(|thread| (1, thread.frames.clone()));
    sections.extend(stack_section("thread", "The finalizer thread", Unit::Count, stack, 1));
    let mut notes = notes(seen);
    notes.extend(spent.notes);
    Answer {
        summary: summary(seen, verdict),
        findings: verdict.map(|verdict| finding(seen, verdict)).into_iter().collect(),
        sections,
        notes,
        cost: spent.cost,
        measured: spent.measured,
        end: spent.end,
        ..Answer::default()
    }
}

fn summary(seen: &Seen, verdict: Option<Verdict>) -> String {
    let (before, now) = seen.waiting;
    let waiting = match now {
        0 => "No object waits for its finalizer".to_owned(),
        1 => "1 object waits for its finalizer".to_owned(),
        now => format!("{} objects wait for their finalizer", count_words(now)),
    };
    let change = if before == now { String::new() } else { format!(" ({} before)", count_words(before)) };
    let thread = match (verdict, &seen.now) {
        (Some(Verdict::Blocked), Some(thread)) => {
            format!("the finalizer thread is blocked: it {}", thread.doing)
        }
        (_, Some(thread)) if thread.frames.is_empty() => "the finalizer thread is idle".to_owned(),
        (_, Some(thread)) => format!("the finalizer thread is at work ({})", thread.doing),
        (_, None) => "the finalizer thread runs no finalizer".to_owned(),
    };
    format!("{waiting}{change}; {thread}.")
}

fn finding(seen: &Seen, verdict: Verdict) -> Finding {
    let window = format_duration(seen.window);
    let (before, now) = seen.waiting;
    let count = count_words(now);
    let waits = if now == 1 { "1 object waits".to_owned() } else { format!("{count} objects wait") };
    let (id, severity, confidence, title) = match verdict {
        Verdict::Blocked => (
            "blocked-finalizer",
            Severity::Critical,
            Confidence::High,
            format!("The finalizer thread is blocked, and {waits} for it"),
        ),
        Verdict::Behind => (
            "finalizer-behind",
            Severity::Warning,
            Confidence::Medium,
            format!("Finalizers are too slow: {waits} for them"),
        ),
    };
    let mut finding = Finding::new(id, severity, confidence, title).fact(Fact::measured([
        ("waiting", Value::Count(now)),
        ("before", Value::Count(before)),
        ("kept-alive", Value::Bytes(seen.kept.unwrap_or(0))),
        ("window", Value::time(seen.window)),
    ]));
    let thread = seen.now.as_ref();
    if let Some(runs) = thread.and_then(|thread| thread.runs.as_ref()) {
        finding = finding.culprit(blame::method(runs));
    }
    if let Some(thread) = thread {
        let at = thread.at.as_ref().map_or(String::new(), |at| format!(" in {}", blame::place(at)));
        let names = thread.at.iter().chain(&thread.runs).map(|frame| frame.name.clone());
        finding = finding
            .fact(Fact::threads([thread.tid]))
            .fact(Fact::names(names))
            .evidence("Thread", format!("{} {}{at}", thread.tid, thread.doing));
    }
    finding = match verdict {
        Verdict::Blocked => finding.evidence(
            "Unmoved",
            format!("the same place in both looks, {window} apart, without using the CPU"),
        ),
        Verdict::Behind => {
            let end = match time_to_end(seen) {
                Some(time) => format!("at this pace it needs {} for the rest", format_duration(time)),
                None => "and there are not fewer".to_owned(),
            };
            finding.evidence("Both looks", format!("it runs finalizers, {window} apart, {end}"))
        }
    };
    finding = finding.evidence("Waiting", format!("{count}, {} before", count_words(before)));
    if let Some(kept) = seen.kept {
        let kept = bytes_words(fraction(kept));
        finding = finding.evidence("Kept alive", format!("{kept} by the queue alone"));
    }
    match verdict {
        Verdict::Blocked => finding
            .advice("A finalizer must not wait: no lock, no I/O, no Thread.Join. Free the native resource and return.")
            .advice("Until it goes on, no object with a finalizer is freed any more. `drdotnet run deadlocks` tells who holds the lock it waits for."),
        Verdict::Behind => finding
            .advice("Dispose these objects where they are used (using); a disposed object calls GC.SuppressFinalize and never enters the queue.")
            .advice("Make the finalizer short, or keep the native resource in a SafeHandle, which is cheap to finalize."),
    }
}

fn table(seen: &Seen, top: usize) -> Section {
    let mut table = Table::new([
        Column::new("type", "Type", Unit::Text),
        Column::new("now", "Waiting", Unit::Count),
        Column::new("before", "Before", Unit::Count),
        Column::new("bytes", "Bytes", Unit::Bytes),
        Column::new("retained", "Kept alive", Unit::Bytes),
    ]);
    for row in seen.rows.iter().take(top) {
        table.push([
            Cell::from(row.name.clone()),
            Cell::from(row.now),
            Cell::from(row.before),
            Cell::from(row.bytes),
            row.retained.map_or(Cell::Missing, Cell::from),
        ]);
    }
    table.omitted_rows = seen.rows.len().saturating_sub(top) as u64;
    Section::new("queue", "Dead objects that wait for their finalizer", Body::Table(table))
}

fn notes(seen: &Seen) -> Vec<String> {
    let mut notes = Vec::new();
    if seen.kept.is_none() {
        notes.push(
            "The queue was read from outside, out of the collector's tables, while the process ran; --set kept=yes takes the \
             heap and tells what it keeps alive."
                .to_owned(),
        );
    }
    if seen.collections > 0 {
        notes.push(
            "A collection puts all objects into the queue that it finds dead and that have a finalizer; those that the \
             collections for this report found are counted too."
                .to_owned(),
        );
    }
    if seen.window < SHORTEST_PROOF {
        notes.push(
            "The looks are too close together to say whether finalizers run: give it some seconds with --duration."
                .to_owned(),
        );
    }
    notes
}
