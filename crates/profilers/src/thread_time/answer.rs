//! Analysing: from times by stack to an answer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use model::{Body, Cell, Column, Finding, Section, Table, Unit, format_duration};
use stacks::StackKey;

use super::collect::{Collected, ThreadSeen};
use crate::Settings;
use crate::profiler::Answer;
use crate::ratio::{nanos, percent};
use crate::sampling::{
    BlockedPool, Calls, Doing, Doings, Framework, MethodId, has_content, pauses_note, sync_over_async,
};
use crate::threads::kind_of_work;

/// A thread that spends this part of its time in one place, or idle, only waits, in per cent.
const STILL: f64 = 99.0;
/// Shorter windows prove nothing.
const SHORTEST_PROOF: Duration = Duration::from_millis(900);
/// Below this part of the samples that were due, the reader is told, in per cent.
const FEW_SAMPLES: f64 = 50.0;

/// How a thread spent its time.
struct Judged<'a> {
    thread: &'a ThreadSeen,
    /// Where, doing what, how long; the longest first.
    times: Vec<(Option<StackKey>, Doing, u64)>,
    total: u64,
    /// Whether it only waited.
    still: bool,
}

impl Judged<'_> {
    fn running(&self) -> u64 {
        self.times.iter().filter(|(_, doing, _)| *doing == Doing::Runs).map(|(_, _, ns)| ns).sum()
    }
}

fn judge<'a>(thread: &'a ThreadSeen, doings: &mut Doings<'_>) -> Judged<'a> {
    let mut times: Vec<(Option<StackKey>, Doing, u64)> = Vec::new();
    let mut waited: HashMap<StackKey, u64> = HashMap::new();
    let mut parked = 0;
    for ((stack, mode), ns) in &thread.spent {
        let doing = doings.of(*stack, *mode);
        if let Some(stack) = stack.filter(|_| doing != Doing::Runs) {
            *waited.entry(stack).or_default() += ns;
        }
        if doing == Doing::Parked {
            parked += ns;
        }
        times.push((*stack, doing, *ns));
    }
    times.sort_by_key(|(stack, doing, ns)| (Reverse(*ns), *stack, *doing));
    let total = times.iter().map(|(_, _, ns)| ns).sum();
    let longest = waited.into_values().max().unwrap_or(0);
    let still = percent(parked.max(longest), total) >= STILL;
    Judged { thread, times, total, still }
}

pub(super) fn answer(collected: &Collected, settings: &Settings) -> Answer {
    let calls = &collected.calls;
    let mut doings = Doings::new(calls, collected.kinds);
    for ((stack, mode), ns) in collected.threads.iter().flat_map(|thread| &thread.spent) {
        doings.count(*stack, *mode, *ns);
    }
    let judged: Vec<Judged<'_>> = collected.threads.iter().map(|thread| judge(thread, &mut doings)).collect();
    let show_idle = settings.choice("idle") == "show";
    // What counts: threads that do something, and of those, not the time they wait for work.
    let ours = |judged: &Judged<'_>| {
        judged.times.iter().any(|(stack, ..)| stack.is_some_and(|it| calls.is_ours(it)))
    };
    let counted = |judged: &&Judged<'_>| show_idle || !(judged.still || ours(judged));
    let mut places = Vec::new();
    for judged in judged.iter().filter(counted) {
        for (stack, doing, ns) in &judged.times {
            if let Some(stack) = stack
                && (show_idle || *doing != Doing::Parked)
                && !calls.is_ours(*stack)
            {
                places.push((*stack, *doing, *ns));
            }
        }
    }
    let rows = methods(calls, &places);
    let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
    let mut sections = vec![method_table(calls, &rows, top)];
    let active: Vec<&Judged<'_>> = judged.iter().filter(counted).collect();
    sections.push(thread_table(calls, &active, top));
    if !show_idle {
        sections.extend(still_table(calls, &judged));
    }
    sections.push(tree(calls, &places, Framework::of(settings.choice("framework"))));
    sections.retain(has_content);
    if calls.is_nameless() {
        sections.clear();
    }
    Answer {
        summary: summary(collected, calls, &judged, &rows),
        findings: findings(collected, &judged, &mut doings),
        sections,
        notes: notes(collected),
        cost: collected.cost.clone(),
        measured: collected.measured,
        end: collected.end,
        ..Answer::default()
    }
}

/// What a method took: itself, and the framework's code that it calls.
struct Row {
    method: MethodId,
    ns: u64,
    running: u64,
    doing: BTreeMap<Doing, u64>,
}

impl Row {
    fn mostly(&self) -> Doing {
        self.doing.iter().max_by_key(|(_, ns)| **ns).map_or(Doing::Outside, |(doing, _)| *doing)
    }
}

/// The method to name for a stack: the innermost of the program's own, or else the innermost.
fn named(calls: &Calls, stack: StackKey) -> Option<MethodId> {
    calls.own_frame(stack).or_else(|| calls.frames(stack).next()).map(|(method, _)| method)
}

fn methods(calls: &Calls, places: &[(StackKey, Doing, u64)]) -> Vec<Row> {
    let mut rows: HashMap<MethodId, Row> = HashMap::new();
    for (stack, doing, ns) in places {
        let Some(method) = named(calls, *stack) else { continue };
        let row =
            rows.entry(method).or_insert_with(|| Row { method, ns: 0, running: 0, doing: BTreeMap::new() });
        row.ns += ns;
        if *doing == Doing::Runs {
            row.running += ns;
        }
        *row.doing.entry(*doing).or_default() += ns;
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by(|a, b| (b.ns, calls.method_name(a.method)).cmp(&(a.ns, calls.method_name(b.method))));
    rows
}

fn method_table(calls: &Calls, rows: &[Row], top: usize) -> Section {
    let whole: u64 = rows.iter().map(|row| row.ns).sum();
    let mut table = Table::new([
        Column::new("method", "Method", Unit::Text),
        Column::new("share", "Share", Unit::Percent),
        Column::new("time", "Time", Unit::Nanoseconds),
        Column::new("running", "Running", Unit::Nanoseconds),
        Column::new("mostly", "Mostly", Unit::Text),
    ]);
    for row in rows.iter().take(top) {
        table.push([
            Cell::from(calls.method_name(row.method)),
            Cell::from(percent(row.ns, whole)),
            Cell::from(row.ns),
            Cell::from(row.running),
            Cell::from(row.mostly().words()),
        ]);
    }
    table.omitted_rows = rows.len().saturating_sub(top) as u64;
    Section::new("methods", "Time by method, with the framework code it calls", Body::Table(table))
}

fn place_words(calls: &Calls, judged: &Judged<'_>) -> (String, &'static str) {
    let busiest = judged.times.iter().find(|(stack, doing, _)| stack.is_some() && *doing != Doing::Parked);
    let busiest = busiest.or_else(|| judged.times.first());
    match busiest {
        Some((Some(stack), doing, _)) => {
            let method = named(calls, *stack).map_or("?", |method| calls.method_name(method));
            (method.to_owned(), doing.words())
        }
        _ => ("no .NET code".to_owned(), Doing::Parked.words()),
    }
}

fn thread_name(thread: &ThreadSeen) -> &str {
    thread.name.as_deref().unwrap_or("(name unknown)")
}

/// Threads of one name that are mostly in one method.
struct Group<'a> {
    name: String,
    threads: Vec<&'a Judged<'a>>,
}

impl Group<'_> {
    fn running(&self) -> f64 {
        let running = self.threads.iter().map(|judged| judged.running()).sum();
        percent(running, self.threads.iter().map(|judged| judged.total).sum())
    }

    /// The thread that speaks for the others.
    fn busiest(&self) -> Option<&Judged<'_>> {
        self.threads.iter().copied().max_by_key(|judged| (judged.running(), Reverse(judged.thread.id)))
    }
}

fn thread_table<'a>(calls: &Calls, threads: &[&'a Judged<'a>], top: usize) -> Section {
    let mut groups: BTreeMap<(String, String), Vec<&Judged<'_>>> = BTreeMap::new();
    for judged in threads {
        let name = kind_of_work(thread_name(judged.thread));
        groups.entry((name, place_words(calls, judged).0)).or_default().push(judged);
    }
    let mut groups: Vec<Group<'_>> =
        groups.into_iter().map(|((name, _), threads)| Group { name, threads }).collect();
    groups.sort_by(|a, b| b.running().total_cmp(&a.running()).then_with(|| a.name.cmp(&b.name)));
    let mut table = Table::new([
        Column::new("thread", "Thread", Unit::Text),
        Column::new("threads", "Count", Unit::Count),
        Column::new("tid", "TID", Unit::Id),
        Column::new("running-percent", "Running", Unit::Percent),
        Column::new("mostly", "Mostly", Unit::Text),
        Column::new("method", "In", Unit::Text),
    ]);
    for group in groups.iter().take(top) {
        let Some(busiest) = group.busiest() else { continue };
        let (method, doing) = place_words(calls, busiest);
        let alone = group.threads.len() == 1;
        let name = if alone { thread_name(busiest.thread).to_owned() } else { group.name.clone() };
        table.push([
            Cell::from(name),
            Cell::from(group.threads.len() as u64),
            Cell::from(alone.then_some(busiest.thread.id)),
            Cell::from(group.running()),
            Cell::from(doing),
            Cell::from(method),
        ]);
    }
    table.omitted_rows = groups.len().saturating_sub(top) as u64;
    Section::new("threads", "Threads that did something", Body::Table(table))
}

/// Threads that only waited, in the program's own code: a thread that hangs is among them.
fn still_table(calls: &Calls, judged: &[Judged<'_>]) -> Option<Section> {
    /// Places beyond this many are left out.
    const MOST_PLACES: usize = 8;
    let mut places: BTreeMap<(String, &'static str), u64> = BTreeMap::new();
    for judged in judged.iter().filter(|judged| judged.still) {
        if judged.times.first().is_some_and(|(_, doing, _)| *doing != Doing::Parked) {
            *places.entry(place_words(calls, judged)).or_default() += 1;
        }
    }
    if places.is_empty() {
        return None;
    }
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_by_key(|(place, threads)| (Reverse(*threads), place.clone()));
    let mut table = Table::new([
        Column::new("method", "Method", Unit::Text),
        Column::new("threads", "Threads", Unit::Count),
        Column::new("doing", "Doing", Unit::Text),
    ]);
    for ((method, doing), threads) in places.iter().take(MOST_PLACES) {
        table.push([Cell::from(method.as_str()), Cell::from(*threads), Cell::from(*doing)]);
    }
    table.omitted_rows = places.len().saturating_sub(MOST_PLACES) as u64;
    Some(Section::new("still", "Waited in one place all the time (not counted above)", Body::Table(table)))
}

fn tree(calls: &Calls, places: &[(StackKey, Doing, u64)], framework: Framework) -> Section {
    let mut weighed: HashMap<StackKey, u64> = HashMap::new();
    for (stack, _, ns) in places {
        *weighed.entry(*stack).or_default() += ns;
    }
    Section::new("calls", "Call tree", Body::Tree(calls.tree(&weighed, Unit::Nanoseconds, framework)))
}

fn summary(collected: &Collected, calls: &Calls, judged: &[Judged<'_>], rows: &[Row]) -> String {
    let window = format_duration(collected.measured);
    if judged.is_empty() {
        return format!("No sample came in {window}: no thread ran .NET code.");
    }
    if calls.is_nameless() {
        return format!(
            "{} threads were looked at for {window}, but the names of their methods did not come.",
            judged.len()
        );
    }
    let still = judged.iter().filter(|judged| judged.still).count();
    let active = judged.len() - still;
    let whole: u64 = rows.iter().map(|row| row.ns).sum();
    let running: u64 = rows.iter().map(|row| row.running).sum();
    let Some(first) = rows.first().filter(|_| active > 0) else {
        return format!("All {still} threads only waited during {window}.");
    };
    format!(
        "Most time: {} ({:.0} %, {}). {active} of {} threads did something in {window}, running {:.0} % of their time; \
         the others waited.",
        calls.method_name(first.method),
        percent(first.ns, whole),
        first.mostly().words(),
        judged.len(),
        percent(running, whole),
    )
}

fn findings(collected: &Collected, judged: &[Judged<'_>], doings: &mut Doings<'_>) -> Vec<Finding> {
    if collected.measured < SHORTEST_PROOF {
        return Vec::new();
    }
    let mut pool = BlockedPool::default();
    for (stack, doing, ns) in judged.iter().flat_map(|judged| &judged.times) {
        if let Some(stack) = stack {
            pool.add(&collected.calls, doings, *stack, *doing, *ns);
        }
    }
    let window = nanos(collected.measured);
    sync_over_async(&pool, window).into_iter().collect()
}

fn notes(collected: &Collected) -> Vec<String> {
    let mut notes = collected.notes.clone();
    let pauses = collected.cost.pauses;
    if pauses.count > 0 {
        let window = nanos(collected.measured);
        notes.push(pauses_note(pauses.total_ns, window));
    }
    if percent(collected.rounds, collected.rounds_due) < FEW_SAMPLES {
        notes.push(format!(
            "The sampler looked {} times instead of {}: each sample stands for more time, so short things may be missed.",
            collected.rounds, collected.rounds_due
        ));
    }
    if collected.unseen_ns > 0 {
        notes.push(format!(
            "{} of thread time has no sample and is left out: the threads were outside of .NET code, or the sampler \
             could not look.",
            format_duration(Duration::from_nanos(collected.unseen_ns))
        ));
    }
    notes
}
