//! From what was seen to the report.

use std::collections::BTreeSet;
use std::time::Duration;

use model::{
    Body, Cell, Column, Confidence, Culprit, CulpritKind, Fact, Finding, Node, Section, Severity, Table,
    Tree, Unit, Value, format_duration,
};

use crate::Settings;
use crate::about::About;
use crate::profiler::Answer;
use crate::ratio::{bytes_words, count_words, fraction, nanos, percent};

use super::leaks::{Blamed, Kind, Leak};

/// Most leaks that are told of.
const MOST: usize = 5;
/// Longer ways are cut in the middle.
const LONGEST_WAY: usize = 12;
/// With so many looks that all saw more, it is no chance.
const SURE: usize = 3;

/// One look in numbers.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    /// Since the first look.
    pub(super) at: Duration,
    /// What was alive.
    pub(super) objects: u64,
    pub(super) bytes: u64,
    /// Bytes that nothing held any more.
    pub(super) garbage: u64,
    /// How long the process stood still; none for a heap that was taken before.
    pub(super) pause: Option<Duration>,
}

/// A type that grew.
#[derive(Clone, Debug)]
pub(super) struct Growing {
    pub(super) name: String,
    pub(super) more_objects: u64,
    pub(super) more_bytes: u64,
    pub(super) more_retained: u64,
    pub(super) objects: u64,
    pub(super) retained: u64,
}

/// What was seen.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// From the first look to the last.
    pub(super) window: Duration,
    pub(super) sights: Vec<Sight>,
    /// The most first.
    pub(super) growing: Vec<Growing>,
    /// The most first.
    pub(super) leaks: Vec<Leak>,
}

/// The answer.
pub(super) fn answer(seen: &Seen, mut about: About, settings: &Settings) -> Answer {
    let (leaks, doubtful): (Vec<&Leak>, Vec<&Leak>) = seen.leaks.iter().partition(|leak| is_leak(leak, seen));
    let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
    let mut sections = vec![looks(seen)];
    if !leaks.is_empty() {
        sections.push(ways(&leaks));
    }
    if !seen.growing.is_empty() {
        sections.push(types(seen, top));
    }
    let mut notes = std::mem::take(&mut about.notes);
    notes.extend(doubts(&doubtful));
    if seen.sights.len() < SURE && !leaks.is_empty() {
        notes.push("two looks cannot tell a leak from a cache that is still filling: --set looks=4, or look again later with --set since=SESSION".to_owned());
    }
    about.into_answer(
        summary(&leaks, seen),
        leaks.iter().take(MOST).map(|leak| finding(leak, seen)).collect(),
        sections,
        notes,
    )
}

/// Whether growth is told as a leak. What hangs on running methods comes and goes, so it must have risen from look to look;
/// and nothing that went down in between is one.
fn is_leak(leak: &Leak, seen: &Seen) -> bool {
    leak.rises && (!leak.hangs_on_locals || seen.sights.len() > SURE)
}

fn more(of: &[u64]) -> u64 {
    let [first, .., last] = of else { return 0 };
    last.saturating_sub(*first)
}

/// By how much it grows an hour.
fn an_hour(number: u64, window: Duration) -> Option<f64> {
    (!window.is_zero()).then(|| fraction(number) / window.as_secs_f64() * 3600.0)
}

fn bytes(number: u64) -> String {
    bytes_words(fraction(number))
}

fn summary(leaks: &[&Leak], seen: &Seen) -> String {
    let (first, last) = match &seen.sights[..] {
        [first, .., last] => (first, last),
        _ => return "The heap was looked at once only.".to_owned(),
    };
    let change = match last.bytes.checked_sub(first.bytes) {
        Some(more) => format!("grew by {}", bytes(more)),
        None => format!("shrank by {}", bytes(first.bytes - last.bytes)),
    };
    let alive =
        format!("What is alive {change} in {}, to {}", format_duration(seen.window), bytes(last.bytes));
    match leaks {
        [] => format!("{alive}; nothing grows steadily."),
        [first, rest @ ..] => {
            let others = match rest.len() {
                0 => String::new(),
                1 => ", and one more place".to_owned(),
                more => format!(", and {more} more places"),
            };
            format!("{alive}; {} at {}{others}.", growth_words(first, seen.window), place(first))
        }
    }
}

/// `1,234 Shop.Order more, 12 MB (4.4 GB an hour)`.
fn growth_words(leak: &Leak, window: Duration) -> String {
    let hour = an_hour(more(&leak.bytes), window)
        .map_or(String::new(), |rate| format!(" ({} an hour)", bytes_words(rate)));
    let size = bytes(more(&leak.bytes));
    if leak.swells {
        return format!("{} became larger by {size}{hour}", leak.what);
    }
    format!("{} {} more with {size}{hour}", count_words(more(&leak.objects)), leak.what)
}

fn place(leak: &Leak) -> &str {
    match &leak.blamed {
        Blamed::Field(name) | Blamed::Type(name) | Blamed::Method(name) => name,
    }
}

fn finding(leak: &Leak, seen: &Seen) -> Finding {
    let (confidence, why) = confidence(leak, seen);
    let objects: Vec<String> = leak.objects.iter().map(|count| count_words(*count)).collect();
    let mut finding = Finding::new(leak.kind.id(), Severity::Warning, confidence, title(leak)).culprit(
        match &leak.blamed {
            Blamed::Field(name) => Culprit::new(CulpritKind::Field, name),
            Blamed::Type(name) => Culprit::new(CulpritKind::Type, name),
            Blamed::Method(name) => Culprit::new(CulpritKind::Method, name),
        },
    );
    finding = finding
        .fact(Fact::measured([
            ("objects-at-first", Value::Count(leak.objects.first().copied().unwrap_or(0))),
            ("objects", Value::Count(leak.objects.last().copied().unwrap_or(0))),
            ("bytes-at-first", Value::Bytes(leak.bytes.first().copied().unwrap_or(0))),
            ("bytes", Value::Bytes(leak.bytes.last().copied().unwrap_or(0))),
            ("retained", Value::Bytes(leak.retained)),
            ("looks", Value::count(leak.objects.len())),
            ("window", Value::time(seen.window)),
        ]))
        .fact(Fact::names(names(leak)))
        .evidence("Growth", growth_words(leak, seen.window));
    if !leak.swells {
        finding = finding.evidence("Objects", format!("{} (look by look)", objects.join(", ")));
    }
    if leak.retained > 0 {
        finding =
            finding.evidence("Retained", format!("{} would go with all {}", bytes(leak.retained), leak.what));
    }
    if let Some(collection) = &leak.collection {
        let held = match &leak.blamed {
            Blamed::Field(field) => format!("{field}, a {collection}"),
            _ => collection.clone(),
        };
        finding = finding.evidence("Collection", held);
    }
    finding = finding.evidence("Path", path(leak)).evidence("Why", why);
    leak.kind.advice(leak).into_iter().fold(finding, Finding::advice)
}

/// What a leak is about beside its culprit: what is added, and the way to it.
fn names(leak: &Leak) -> BTreeSet<String> {
    let of_kind: &[&String] = match &leak.kind {
        Kind::EventHandlers { event, subscriber } => &[event, subscriber],
        Kind::Async { method: Some(method) } => &[method],
        Kind::WeakTable { table: Some(table), key } => &[table, key],
        Kind::WeakTable { table: None, key } => &[key],
        Kind::Handles { of } => &[of],
        _ => &[],
    };
    let way = leak.way.iter().flat_map(|step| &step.names);
    let all = of_kind.iter().copied().chain([&leak.what]).chain(&leak.collection).chain(way);
    all.cloned().collect()
}

fn title(leak: &Leak) -> String {
    let what = &leak.what;
    let place = place(leak);
    let in_place = match &leak.blamed {
        Blamed::Field(field) => format!(" in {field}"),
        Blamed::Type(_) | Blamed::Method(_) => String::new(),
    };
    match &leak.kind {
        Kind::EventHandlers { event, subscriber } => {
            format!("{event} keeps every {subscriber} alive: handlers are added and never removed")
        }
        Kind::Async { method: Some(method) } => {
            format!("Operations of {method} never end, and keep what they hold")
        }
        Kind::Async { method: None } => {
            "Asynchronous operations never end, and keep what they hold".to_owned()
        }
        Kind::Timers => format!("Timers that are never disposed of keep every {what} alive"),
        Kind::FinalizerQueue => format!("More {what} wait for their finalizer than it gets done"),
        Kind::WeakTable { table: Some(table), .. } => {
            format!("{table} keeps {what} for keys that do not die")
        }
        Kind::WeakTable { table: None, key } => {
            format!("A ConditionalWeakTable keeps {what} for each {key}, which does not die")
        }
        Kind::ThreadStatic { .. } => format!("Threads keep more and more {what} in {place}"),
        Kind::Registrations => {
            format!("Callbacks of {what} stay registered with a CancellationToken that lives on")
        }
        Kind::Handles { of } if of == what => format!("Open {what} pile up{in_place}"),
        Kind::Handles { of } => format!("{what}, each with an open {of}, pile up{in_place}"),
        Kind::GcHandles => format!("GC handles to {what} are never freed"),
        Kind::Closures => format!("Variables that lambdas captured pile up{in_place}"),
        Kind::Cache => format!("{place} grows without a bound: {what}"),
        Kind::Collection if leak.swells => format!("{place} grows: one {what} becomes larger and larger"),
        Kind::Collection => format!("{what} pile up{in_place}"),
        Kind::Locals => format!("{what} pile up in a running method"),
    }
}

/// How sure it is, and why.
fn confidence(leak: &Leak, seen: &Seen) -> (Confidence, String) {
    let looks = seen.sights.len();
    let share = percent(more(&leak.bytes), leak.bytes.first().copied().unwrap_or(0).max(1));
    let alive = "only what roots reach is counted, so a collection would not remove it";
    let grew = if leak.bytes.first() == Some(&0) {
        "it was not there at the first look".to_owned()
    } else {
        format!("{share:.0} % more than at the first look")
    };
    let root = if leak.is_named {
        "the root that holds it has a name"
    } else {
        "the root that holds it has no name"
    };
    if looks >= SURE && leak.is_named {
        return (
            Confidence::High,
            format!("each of {looks} looks saw more than the one before; {grew}; {alive}"),
        );
    }
    if leak.is_named || looks >= SURE || leak.kind == Kind::FinalizerQueue {
        return (Confidence::Medium, format!("{looks} looks, {grew}; {alive}; {root}"));
    }
    (Confidence::Low, format!("{looks} looks only, {grew}; {alive}; {root}"))
}

/// The way in one line.
fn path(leak: &Leak) -> String {
    let labels: Vec<&str> = leak.way.iter().map(|step| step.label.as_str()).collect();
    if labels.len() <= LONGEST_WAY {
        return labels.join(" > ");
    }
    let half = LONGEST_WAY / 2;
    let cut = labels.len() - 2 * half;
    format!("{} > ({cut} more) > {}", labels[..half].join(" > "), labels[labels.len() - half..].join(" > "))
}

fn looks(seen: &Seen) -> Section {
    let mut table = Table::new([
        Column::new("at", "After", Unit::Nanoseconds),
        Column::new("objects", "Objects alive", Unit::Count),
        Column::new("bytes", "Bytes alive", Unit::Bytes),
        Column::new("garbage", "Not held", Unit::Bytes),
        Column::new("pause", "Pause", Unit::Nanoseconds),
    ]);
    for sight in &seen.sights {
        table.push([
            // The first look is at the start; nobody wants to read of some nanoseconds.
            Cell::from(nanos(sight.at) / 1_000_000 * 1_000_000),
            sight.objects.into(),
            sight.bytes.into(),
            sight.garbage.into(),
            sight.pause.map_or(Cell::Missing, |pause| nanos(pause).into()),
        ]);
    }
    Section::new("looks", "Looks", Body::Table(table))
}

/// The ways to what grows, as trees.
fn ways(leaks: &[&Leak]) -> Section {
    let chain = |leak: &&Leak| {
        let mut below: Option<Node> = None;
        for step in leak.way.iter().rev() {
            // A root has no objects of its own.
            let is_root = step.objects == 0;
            let values = if is_root {
                vec![Cell::Missing, Cell::Missing]
            } else {
                vec![step.more.into(), step.objects.into()]
            };
            below = Some(Node { label: step.label.clone(), values, children: below.into_iter().collect() });
        }
        below
    };
    let tree = Tree {
        columns: vec![
            Column::new("more", "+Objects", Unit::Count),
            Column::new("objects", "Now", Unit::Count),
        ],
        roots: leaks.iter().take(MOST).filter_map(chain).collect(),
    };
    Section::new(
        "ways",
        "Who holds what grows: shortest ways from the roots (* may be passed again)",
        Body::Tree(tree),
    )
}

fn types(seen: &Seen, top: usize) -> Section {
    let mut table = Table::new([
        Column::new("more-objects", "+Objects", Unit::Count),
        Column::new("more-bytes", "+Bytes", Unit::Bytes),
        Column::new("more-retained", "+Retained", Unit::Bytes),
        Column::new("an-hour", "An hour", Unit::Bytes),
        Column::new("objects", "Now", Unit::Count),
        Column::new("retained", "Retained", Unit::Bytes),
        Column::new("type", "Type", Unit::Text),
    ]);
    table.omitted_rows = seen.growing.len().saturating_sub(top) as u64;
    for growing in seen.growing.iter().take(top) {
        table.push([
            growing.more_objects.into(),
            growing.more_bytes.into(),
            growing.more_retained.into(),
            an_hour(growing.more_bytes, seen.window).map_or(Cell::Missing, Cell::Fraction),
            growing.objects.into(),
            growing.retained.into(),
            Cell::from(&*growing.name),
        ]);
    }
    Section::new("types", "Types that grew", Body::Table(table))
}

/// What grew and is not called a leak.
fn doubts(doubtful: &[&Leak]) -> Vec<String> {
    doubtful
        .iter()
        .take(3)
        .map(|leak| match leak.hangs_on_locals {
            true => format!(
                "{} of {} hang on running methods, which come and go: --set looks=4 tells whether they only grow",
                bytes(more(&leak.bytes)),
                leak.what
            ),
            false => format!("{} of {} more, but not at every look: no leak so far", bytes(more(&leak.bytes)), leak.what),
        })
        .collect()
}
