//! From two looks to an answer.

use std::collections::HashSet;
use std::time::Duration;

use model::{
    Body, Cell, Column, Confidence, Fact, Finding, Frame, Section, Severity, Stack, Stacks, Table, Unit,
    Value, format_duration,
};

use super::judge::{Group, Looks, Verdict};
use crate::Settings;
use crate::about::About;
use crate::blame;
use crate::inside::Seen;
use crate::profiler::Answer;
use crate::ratio::{count_words, nanos, rate_words};

/// Shorter windows prove nothing about a thread's habits.
const SHORTEST_PROOF: Duration = Duration::from_millis(900);
/// What waits for a lock say that has one owner.
const LOCKS: &[&str] = &["(Monitor.Enter", "(Monitor.ReliableEnter", "(Lock."];
/// Stacks that are shown.
const MOST_STACKS: usize = 5;
/// Threads that are named with a stack.
const MOST_NAMED: usize = 20;

/// Threads that came and went between the looks.
struct Flow {
    before: usize,
    after: usize,
    born: usize,
    ended: usize,
}

impl Flow {
    fn of(looks: &Looks) -> Flow {
        let ids = |threads: &[Seen]| -> HashSet<(u32, Option<u64>)> {
            threads.iter().map(|thread| (thread.inside, thread.started)).collect()
        };
        let (before, after) = (ids(&looks.before.threads), ids(&looks.after.threads));
        Flow {
            born: after.difference(&before).count(),
            ended: before.difference(&after).count(),
            before: before.len(),
            after: after.len(),
        }
    }
}

pub(super) fn answer(looks: &Looks, about: About, settings: &Settings) -> Answer {
    let least = usize::try_from(settings.integer("least")).unwrap_or(usize::MAX);
    let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
    let groups = looks.groups(least);
    let flow = Flow::of(looks);
    let mut sections = Vec::new();
    if !groups.is_empty() {
        sections.push(place_table(looks, &groups, top));
    }
    sections.push(flow_table(looks, &flow));
    sections.extend(stacks(&groups));
    let notes = notes(looks, &groups);
    let findings = if looks.window < SHORTEST_PROOF {
        Vec::new()
    } else {
        groups.iter().filter_map(|group| finding(looks, group)).collect()
    };
    about.into_answer(summary(looks, &groups, &flow), findings, sections, notes)
}

fn summary(looks: &Looks, groups: &[Group<'_>], flow: &Flow) -> String {
    let window = format_duration(looks.window);
    let stuck: usize = groups.iter().map(|group| group.stuck.len()).sum();
    if stuck == 0 {
        return format!(
            "No thread of the program did nothing for {window}; those of the pool and of .NET itself do not count."
        );
    }
    let first = groups.iter().max_by_key(|group| (group.verdict, group.count()));
    let most = first.map_or(String::new(), |group| {
        format!(" Most in one place: {} in {}.", count_words(group.count() as u64), group.place)
    });
    format!(
        "{} of {} threads did nothing for {window}: no CPU, the same stack.{most}",
        count_words(stuck as u64),
        count_words(flow.after as u64)
    )
}

fn finding(looks: &Looks, group: &Group<'_>) -> Option<Finding> {
    let window = format_duration(looks.window);
    let count = count_words(group.count() as u64);
    let (confidence, title) = match group.verdict {
        Verdict::Waiting => return None,
        Verdict::Growing => (
            Confidence::High,
            format!(
                "Threads are started that never end: {} more within {window}, {count} by now",
                group.born.len()
            ),
        ),
        Verdict::PiledUp => {
            (Confidence::Medium, format!("{count} threads have piled up in one place and do nothing"))
        }
    };
    let frame = group.stuck.first().and_then(|thread| thread.own_frame())?;
    let mut finding = Finding::new("thread-leak", Severity::Warning, confidence, title)
        .culprit(blame::method(frame))
        .fact(Fact::measured([
            ("idle", Value::count(group.stuck.len())),
            ("born", Value::count(group.born.len())),
            ("ended", Value::count(group.ended)),
            ("window", Value::time(looks.window)),
        ]))
        .fact(Fact::threads(group.stuck.iter().map(|thread| thread.inside)))
        .fact(Fact::names([group.began.clone()]))
        .evidence(
            "Did nothing",
            format!("{} for {window}: no CPU, never woken", count_words(group.stuck.len() as u64)),
        )
        .evidence("What they do", group.doing.clone());
    if group.verdict == Verdict::Growing {
        let rate = rate_words(per_hour(group.born.len(), looks.window));
        finding = finding
            .evidence("Growth", format!("{} born, {} ended; {rate} an hour", group.born.len(), group.ended));
    }
    if let Some((youngest, oldest)) = ages(looks, group) {
        finding = finding
            .evidence("Started", format!("{} to {} ago", format_duration(oldest), format_duration(youngest)));
    }
    if group.began != frame.name {
        finding = finding.evidence("Began in", group.began.clone());
    }
    Some(
        finding
            .advice("Give the wait a time limit, or make sure that what it waits for always comes.")
            .advice("Who starts these threads is whoever calls the method they began in: use the pool, or end them."),
    )
}

fn per_hour(count: usize, window: Duration) -> f64 {
    crate::ratio::per_second(count as u64, window) * 3600.0
}

/// The youngest and the oldest of a group.
fn ages(looks: &Looks, group: &Group<'_>) -> Option<(Duration, Duration)> {
    let started = || group.stuck.iter().chain(&group.born).filter_map(|thread| thread.started);
    Some((looks.clock.age(started().max()?), looks.clock.age(started().min()?)))
}

fn place_table(looks: &Looks, groups: &[Group<'_>], top: usize) -> Section {
    let mut table = Table::new([
        Column::new("threads", "Threads", Unit::Count),
        Column::new("born", "New", Unit::Count),
        Column::new("ended", "Ended", Unit::Count),
        Column::new("youngest", "Youngest", Unit::Nanoseconds),
        Column::new("oldest", "Oldest", Unit::Nanoseconds),
        Column::new("stuck-in", "Stuck in", Unit::Text),
        Column::new("began-in", "Began in", Unit::Text),
    ]);
    for group in groups.iter().take(top) {
        let ages = ages(looks, group);
        table.push([
            Cell::from(group.count() as u64),
            Cell::from(group.born.len() as u64),
            Cell::from(group.ended as u64),
            Cell::from(ages.map(|(youngest, _)| nanos(youngest))),
            Cell::from(ages.map(|(_, oldest)| nanos(oldest))),
            Cell::from(group.place.as_str()),
            Cell::from(group.began.as_str()),
        ]);
    }
    table.omitted_rows = groups.len().saturating_sub(top) as u64;
    Section::new("places", "Threads that did nothing, by where they are", Body::Table(table))
}

fn flow_table(looks: &Looks, flow: &Flow) -> Section {
    let mut table = Table::new([
        Column::new("what", "Threads of the process", Unit::Text),
        Column::new("count", "Count", Unit::Count),
        Column::new("per-hour", "An hour", Unit::Count),
    ]);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate for people to read")]
    let hourly = |count| Cell::from(per_hour(count, looks.window).round() as u64);
    table.push([Cell::from("at the first look"), Cell::from(flow.before as u64), Cell::Missing]);
    table.push([Cell::from("born since"), Cell::from(flow.born as u64), hourly(flow.born)]);
    table.push([Cell::from("ended since"), Cell::from(flow.ended as u64), hourly(flow.ended)]);
    table.push([Cell::from("at the second look"), Cell::from(flow.after as u64), Cell::Missing]);
    Section::new("flow", "Coming and going", Body::Table(table))
}

/// One stack of each place.
fn stacks(groups: &[Group<'_>]) -> Option<Section> {
    let stacks: Vec<Stack> = groups
        .iter()
        .take(MOST_STACKS)
        .filter_map(|group| {
            let first = group.stuck.first()?;
            let threads = group.stuck.iter().chain(&group.born).take(MOST_NAMED);
            Some(Stack {
                weight: group.count() as u64,
                threads: threads.map(|thread| format!("{} ({})", thread.name, thread.tid())).collect(),
                frames: first.frames.iter().map(|frame| Frame::clone(frame)).collect(),
            })
        })
        .collect();
    let body = Body::Stacks(Stacks { unit: Unit::Count, stacks });
    (!groups.is_empty()).then(|| Section::new("stacks", "Where they are stuck", body))
}

fn notes(looks: &Looks, groups: &[Group<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    if groups.iter().any(|group| group.verdict == Verdict::Waiting) {
        notes.push(
            "A thread that waits is no illness by itself: a consumer waits for its queue. Only threads that become more, \
             or that piled up over time and never ran, are called a leak."
                .to_owned(),
        );
    }
    if !groups.is_empty() {
        notes.push(
            "The runtime does not record who started a thread; the method it began in tells what it is for."
                .to_owned(),
        );
    }
    let for_a_lock = |group: &Group<'_>| LOCKS.iter().any(|lock| group.doing.contains(lock));
    if groups.iter().any(for_a_lock) {
        notes.push("Some wait for a lock all the time: drdotnet run deadlocks says who holds it.".to_owned());
    }
    if looks.window < SHORTEST_PROOF {
        notes.push(
            "The window is too short to say anything of habits: give it some seconds with --duration."
                .to_owned(),
        );
    }
    if looks.after.lines.method_start > looks.after.lines.exact {
        notes.push("Lines are those where the methods begin.".to_owned());
    }
    notes
}
