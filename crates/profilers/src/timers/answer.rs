//! From two looks to an answer.

use std::time::Duration;

use model::{
    Body, Cell, Column, Confidence, Culprit, CulpritKind, Fact, Finding, Section, Severity, Table, Unit,
    Value, format_duration,
};

use super::judge::{Group, Kind, Seen, Verdict};
use crate::Settings;
use crate::about::About;
use crate::blame;
use crate::profiler::Answer;
use crate::ratio::{count_words, per_second, rate_words};

/// Looks that are closer together prove no growth.
const SHORTEST_PROOF: Duration = Duration::from_millis(900);
const HOUR: Duration = Duration::from_secs(3600);

pub(super) fn answer(seen: &Seen, about: About, settings: &Settings) -> Answer {
    let least = settings.integer("least");
    let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
    let findings = seen.groups.iter().filter_map(|group| finding(seen, group, least)).collect();
    let mut sections = Vec::new();
    if !seen.groups.is_empty() {
        sections.push(table(seen, top));
    }
    let notes = notes(seen, least);
    about.into_answer(summary(seen), findings, sections, notes)
}

fn summary(seen: &Seen) -> String {
    let Some(first) = seen.groups.first().filter(|_| seen.now() > 0) else {
        return "No timer is set.".to_owned();
    };
    let change = match (seen.before(), seen.now()) {
        (before, now) if now > before => format!(", {} more than before", count_words(now - before)),
        (before, now) if now < before => format!(", {} fewer than before", count_words(before - now)),
        _ => String::new(),
    };
    let verb = if seen.now() == 1 { "timer is" } else { "timers are" };
    format!(
        "{} {verb} set{change}. Most of all {} by {}.",
        count_words(seen.now()),
        count_words(first.now),
        what(first)
    )
}

/// What timers of a group are, in words: `Task.Delay in Shop.Poller.RunAsync`.
fn what(group: &Group) -> String {
    match group.kind {
        Kind::Call => blame::place(&group.frame),
        Kind::Cancel | Kind::Tick => group.frame.name.clone(),
        kind => format!("{} of {}", kind.words(), blame::place(&group.frame)),
    }
}

fn finding(seen: &Seen, group: &Group, least: u64) -> Option<Finding> {
    let verdict = group.verdict(least)?;
    if verdict == Verdict::Grows && seen.window < SHORTEST_PROOF {
        return None;
    }
    let window = format_duration(seen.window);
    let now = count_words(group.now);
    let (title, confidence) = match verdict {
        Verdict::Grows => (format!("{now} timers of one callback, and they become more"), Confidence::High),
        Verdict::Many => (format!("{now} timers of one callback"), Confidence::Medium),
    };
    let kind =
        if group.method || group.kind == Kind::Delay { CulpritKind::Method } else { CulpritKind::Type };
    let culprit = Culprit { kind, ..blame::method(&group.frame) };
    let mut finding = Finding::new("timer-leak", Severity::Warning, confidence, title)
        .culprit(culprit)
        .fact(Fact::measured([
            ("now", Value::Count(group.now)),
            ("before", Value::Count(group.before)),
            ("window", Value::time(seen.window)),
        ]))
        .evidence("Set now", format!("{now}, {} before", count_words(group.before)));
    if verdict == Verdict::Grows {
        let hourly = per_second(group.growth(), seen.window) * HOUR.as_secs_f64();
        let growth = count_words(group.growth());
        finding =
            finding.evidence("Growth", format!("{growth} within {window}, {} an hour", rate_words(hourly)));
    }
    finding = finding.evidence("Every", period_words(group));
    if let Some(state) = &group.state {
        finding = finding.evidence("State", state.clone());
    }
    Some(match group.kind {
        Kind::Call | Kind::Elapsed if verdict == Verdict::Many => fires(finding, group).advice(
            "Let one timer serve all: keep what is due in a list or a priority queue, and walk it at each tick.",
        ).advice("If they belong to things that are gone, dispose each timer with its owner."),
        Kind::Call | Kind::Elapsed => fires(finding, group)
            .advice("Dispose the timer when its owner is done: a timer that is set is held by the runtime, and holds the object whose method it calls.")
            .advice("Stop it inside of the callback when there is nothing more to do: Change(Timeout.Infinite, Timeout.Infinite)."),
        Kind::Delay => finding
            .advice("Give Task.Delay a CancellationToken and cancel it when what it guards has ended: a delay that lost a Task.WhenAny stays until its time has come."),
        Kind::Cancel => finding
            .advice("Dispose a CancellationTokenSource when its operation has ended: until then its timer is set."),
        Kind::Tick => finding.advice("Dispose a PeriodicTimer when its loop ends."),
    })
}

/// How often the callbacks of a group run, all together.
fn fires(finding: Finding, group: &Group) -> Finding {
    let Some(period) = group.period else { return finding };
    let rate = per_second(group.now, Duration::from_millis(period.into()));
    finding.evidence("They fire", format!("{} times a second, all together", rate_words(rate)))
}

fn period_words(group: &Group) -> String {
    match group.period {
        Some(period) => format_duration(Duration::from_millis(period.into())),
        None => "once".to_owned(),
    }
}

/// `30 s`, `1 s to 5 m`.
fn due_words(group: &Group) -> String {
    let words = |time: u32| format_duration(Duration::from_millis(time.into()));
    match group.due {
        (least, most) if least == most => words(least),
        (least, most) => format!("{} to {}", words(least), words(most)),
    }
}

fn table(seen: &Seen, top: usize) -> Section {
    let mut table = Table::new([
        Column::new("now", "Now", Unit::Count),
        Column::new("before", "Before", Unit::Count),
        Column::new("kind", "Kind", Unit::Text),
        Column::new("every", "Every", Unit::Text),
        Column::new("due", "Set to", Unit::Text),
        Column::new("callback", "Calls, or is awaited by", Unit::Text),
    ]);
    for group in seen.groups.iter().take(top) {
        table.push([
            Cell::from(group.now),
            Cell::from(group.before),
            Cell::from(group.kind.words()),
            Cell::from(period_words(group)),
            Cell::from(due_words(group)),
            Cell::from(match &group.state {
                Some(state) => format!("{} with {state}", blame::place(&group.frame)),
                None => blame::place(&group.frame),
            }),
        ]);
    }
    table.omitted_rows = seen.groups.len().saturating_sub(top) as u64;
    Section::new("timers", "Timers by what they do", Body::Table(table))
}

fn notes(seen: &Seen, least: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if !seen.understood {
        notes.push(
            "The fields of timers were not found in this runtime (none was ever made, or the program is trimmed in an \
             unusual way), so nothing can be said."
                .to_owned(),
        );
    }
    let is_unnamed = |group: &&Group| matches!(group.kind, Kind::Call | Kind::Elapsed) && !group.method;
    if seen.groups.iter().any(|group| is_unnamed(&group) && blame::is_own(&group.frame)) {
        notes.push(
            "A callback that has never run has no code yet: for it the type is told of the object whose method it is."
                .to_owned(),
        );
    }
    if seen.collections > 0 {
        notes.push(format!(
            "{} full collections were made to find the timers, during which everything stood still, because this runtime \
             cannot walk its heap for an agent (9 and newer can).",
            count_words(seen.collections.into())
        ));
    }
    if seen.moved > 0 {
        notes.push(format!(
            "{} timers were moved by a collection before they could be read and are missing.",
            count_words(seen.moved.into())
        ));
    }
    if seen.unread > 0 {
        notes.push(format!(
            "There are more timers than the agent's bounded memory holds: {} or more things were left out, so the counts are \
             too low.",
            count_words(seen.unread)
        ));
    }
    if seen.window < SHORTEST_PROOF {
        notes.push(
            "The looks are too close together to say what grows: give it some seconds with --duration."
                .to_owned(),
        );
    }
    let healthy = seen.groups.iter().all(|group| group.verdict(least).is_none());
    if healthy && seen.now() > 0 {
        notes.push(format!(
            "A set timer is no illness by itself: {least} or more of one callback are called too many (--set least=N), ten \
             times as many where each request may have one (Task.Delay, CancelAfter)."
        ));
    }
    notes
}
