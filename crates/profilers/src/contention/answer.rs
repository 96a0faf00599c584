//! Analysing: from waits to an answer.

use std::collections::BTreeMap;
use std::time::Duration;

use facts::{Fact, LockWait, LookFacts, Value};
use model::{
    Body, Cell, Column, Confidence, Finding, Frame, Section, Severity, Table, Unit, WindowEnd,
    format_duration,
};

use super::named::{AllWaited, Owners, Waited};
use crate::Settings;
use crate::about::About;
use crate::blame::{is_own, method, own_frame, place};
use crate::profiler::Answer;
use crate::ratio::{count_words, fraction, nanos, per_second, percent, rate_words, share_words};
use crate::stack_section::stack_section;

/// Fewer waits are no habit, unless one of them is this long.
const FEWEST_WAITS: u64 = 10;
const LONG_WAIT: Duration = Duration::from_secs(1);
/// Threads named as owners.
const MOST_OWNERS: usize = 3;

pub(super) fn answer(waited: &AllWaited, about: &About, settings: &Settings) -> Answer {
    let mut sections = Vec::new();
    if !waited.locks.is_empty() {
        let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
        sections.push(lock_table(waited, top));
        sections.extend(owner_table(waited, top));
        let most = settings.integer("stacks");
        let all = || waited.locks.iter().take(top);
        let waiters =
            all().flat_map(|lock| lock.waiters.iter().map(|(frames, sum)| (sum.ns, frames.clone())));
        sections.extend(stack_section("waiters", "Where most is waited", Unit::Nanoseconds, waiters, most));
        let (title, unit) = match waited.known_by {
            Owners::Sampled => ("What owners did meanwhile, by samples", Unit::Count),
            _ => ("Where owners took the lock", Unit::Nanoseconds),
        };
        // Where owners wait like everybody else, their stacks stand above.
        let is_new =
            |lock: &Waited, frames: &Vec<Frame>| lock.waiters.iter().all(|(known, _)| known != frames);
        let owners = all().flat_map(|lock| {
            let new = lock.owners.iter().filter(move |(frames, _)| is_new(lock, frames));
            new.map(|(frames, weight)| (*weight, frames.clone()))
        });
        sections.extend(stack_section("owners", title, unit, owners, most));
    }
    Answer {
        summary: summary(waited, about),
        findings: findings(waited, about, settings),
        sections,
        notes: notes(waited, about),
        cost: about.cost.clone(),
        measured: about.measured,
        end: about.end,
        facts: LookFacts { lock: longest_wait(waited, about), ..LookFacts::default() },
    }
}

/// Waits for the lock that was waited for longest.
fn longest_wait(waited: &AllWaited, about: &About) -> Option<LockWait> {
    let lock = waited.locks.first()?;
    Some(LockWait {
        waited_ns: lock.all.ns,
        percent: percent(lock.all.ns, nanos(about.measured)),
        place: main_place(lock).filter(|frame| is_own(frame)).cloned(),
    })
}

fn words(nanoseconds: u64) -> String {
    format_duration(Duration::from_nanos(nanoseconds))
}

/// The place of the program's own code where a lock is waited for most.
fn main_place(lock: &Waited) -> Option<&Frame> {
    lock.waiters.iter().find_map(|(frames, _)| own_frame(frames))
}

fn summary(waited: &AllWaited, about: &About) -> String {
    let window = format_duration(about.measured);
    let Some(worst) = waited.locks.first() else {
        return format!("No thread waited for a lock in {window}.");
    };
    let total = waited.locks.iter().map(|lock| lock.all.ns).sum::<u64>() + waited.others.ns;
    let place = main_place(worst).map_or_else(|| "a method that is not known".to_owned(), place);
    format!(
        "Threads waited {} for locks in {window}, {} threads at any time on average; {} of it in {place}.",
        words(total),
        rate_words(percent(total, nanos(about.measured)) / 100.0),
        share_words(worst.all.ns, total),
    )
}

fn lock_table(waited: &AllWaited, top: usize) -> Section {
    let mut table = Table::new([
        Column::new("waited-in", "Waited in", Unit::Text),
        Column::new("waits", "Waits", Unit::Count),
        Column::new("total", "Total", Unit::Nanoseconds),
        Column::new("mean", "Mean", Unit::Nanoseconds),
        Column::new("longest", "Longest", Unit::Nanoseconds),
        Column::new("threads", "Threads", Unit::Count),
        Column::new("still-waiting", "Now", Unit::Count),
    ]);
    for lock in waited.locks.iter().take(top) {
        table.push([
            Cell::from(main_place(lock).map(place)),
            Cell::from(lock.all.count),
            Cell::from(lock.all.ns),
            Cell::from(lock.all.ns.checked_div(lock.all.count)),
            Cell::from(lock.longest_ns),
            Cell::from(lock.threads),
            Cell::from(lock.going_on),
        ]);
    }
    if waited.others.count > 0 {
        table.push([
            Cell::from("others, too many to tell apart"),
            Cell::from(waited.others.count),
            Cell::from(waited.others.ns),
        ]);
    }
    table.omitted_rows = waited.locks.len().saturating_sub(top) as u64;
    Section::new("locks", "Locks", Body::Table(table))
}

fn owner_table(waited: &AllWaited, top: usize) -> Option<Section> {
    let mut table = Table::new([
        Column::new("waited-in", "Waited in", Unit::Text),
        Column::new("owner", "Held by thread", Unit::Text),
        Column::new("waits", "Waits", Unit::Count),
        Column::new("total", "Total", Unit::Nanoseconds),
    ]);
    for lock in waited.locks.iter().take(top.min(MOST_OWNERS)) {
        for (thread, sum) in lock.owner_threads.iter().take(MOST_OWNERS) {
            table.push([
                Cell::from(main_place(lock).map(place)),
                Cell::from(thread.as_str()),
                Cell::from(sum.count),
                Cell::from(sum.ns),
            ]);
        }
    }
    let title = "Who held them when a wait began";
    (!table.rows.is_empty()).then(|| Section::new("owner-threads", title, Body::Table(table)))
}

fn findings(waited: &AllWaited, about: &About, settings: &Settings) -> Vec<Finding> {
    let least = fraction(settings.integer("waiting"));
    let is_habit = |lock: &Waited| lock.all.count >= FEWEST_WAITS || lock.longest_ns >= nanos(LONG_WAIT);
    // What a busy machine adds to every wait is not the lock's fault.
    let is_much =
        |lock: &Waited| percent(lock.all.ns, nanos(about.measured)) / lock.slowdown.max(1.0) >= least;
    let sick = waited.locks.iter().filter(|lock| is_habit(lock) && is_much(lock));
    sick.map(|lock| finding(lock, waited.known_by, about)).collect()
}

fn finding(lock: &Waited, known_by: Owners, about: &About) -> Finding {
    let threads = percent(lock.all.ns, nanos(about.measured)) / 100.0;
    let mut finding = Finding::new(
        "lock-contention",
        Severity::Warning,
        Confidence::High,
        format!("Threads queue for a lock: {} of them wait at any time on average", rate_words(threads)),
    );
    if let Some(frame) = main_place(lock) {
        finding = finding.culprit(method(frame));
    }
    finding = finding
        .fact(Fact::measured([
            ("waits", Value::Count(lock.all.count)),
            ("waited", Value::Nanoseconds(lock.all.ns)),
            ("longest", Value::Nanoseconds(lock.longest_ns)),
            ("threads", Value::Count(lock.threads)),
            ("waiting-at-any-time", Value::Mean(threads)),
            ("waiting-at-the-end", Value::Count(lock.going_on)),
            ("window", Value::time(about.measured)),
        ]))
        .evidence(
            "Waits",
            format!(
                "{} by {} threads ({} a second), {} each",
                count_words(lock.all.count),
                lock.threads,
                rate_words(per_second(lock.all.count, about.measured)),
                words(lock.all.ns.checked_div(lock.all.count).unwrap_or(0)),
            ),
        )
        .evidence("Longest", words(lock.longest_ns));
    if lock.going_on > 0 && about.end != WindowEnd::TargetExited {
        finding = finding.evidence("Waiting at the end", count_words(lock.going_on));
    }
    let mut advice = "Do less while the lock is held: move slow work out of it.".to_owned();
    if let Some((own, most, weight)) = main_owner(lock) {
        let share = share_words(most, weight);
        finding = finding.fact(Fact::names([own.name.clone()]));
        let own = place(own);
        finding = if known_by == Owners::Sampled {
            advice = format!("Do less while the lock is held: its owner is in {own}.");
            finding.evidence("Owner meanwhile", format!("in {own} ({share} of {weight} samples)"))
        } else {
            finding.evidence("Owner took it", format!("in {own} ({share} of the time)"))
        };
    }
    finding = finding.advice(advice);
    if known_by == Owners::Taken {
        finding = finding.advice("`--set owners=samples` shows what the owner does while others wait.");
    }
    finding.advice("Split the lock, or use a concurrent collection or a ReaderWriterLockSlim.")
}

/// The place of the program's own code where owners are found most, with its weight and that of all places.
fn main_owner(lock: &Waited) -> Option<(&Frame, u64, u64)> {
    let mut places: BTreeMap<String, (Option<&Frame>, u64)> = BTreeMap::new();
    for (frames, weight) in &lock.owners {
        let own = own_frame(frames);
        places.entry(own.map(place).unwrap_or_default()).or_insert((own, 0)).1 += weight;
    }
    let all = places.values().map(|(_, weight)| weight).sum();
    let known = places.into_values().filter_map(|(own, weight)| Some((own?, weight)));
    let (own, most) = known.max_by_key(|(_, weight)| *weight)?;
    Some((own, most, all))
}

fn notes(waited: &AllWaited, about: &About) -> Vec<String> {
    let mut notes = about.notes.clone();
    notes.extend(waited.shortage.note().filter(|_| !waited.locks.is_empty()));
    if waited.locks.is_empty() {
        return notes;
    }
    match waited.known_by {
        Owners::Unknown => notes.push(
            "this runtime tells neither locks nor owners: waits are told apart by their stack".to_owned(),
        ),
        Owners::Taken => notes.push(
            "owners are told by the place where they took the lock after a wait of their own; one that never waits is \
             known by its thread only"
                .to_owned(),
        ),
        Owners::Sampled => {}
    }
    if waited.native.count > 0 {
        notes.push(format!(
            "{} waits for locks of the runtime itself ({}) are left out",
            count_words(waited.native.count),
            words(waited.native.ns)
        ));
    }
    notes
}
