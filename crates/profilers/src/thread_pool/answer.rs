//! Analysing: from what the pool told and what its threads did to an answer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use model::{
    Body, Cell, Column, Confidence, Fact, Finding, Frame, Line, Point, Section, Series, Severity, Table,
    Unit, Value, format_duration,
};
use stacks::StackKey;

use super::collect::{Collected, Told};
use crate::Settings;
use crate::blame;
use crate::profiler::Answer;
use crate::ratio::percent;
use crate::sampling::{BlockedPool, Calls, Doing, Doings, Framework, MethodId, sync_over_async};

/// Threads that the pool adds because work waits; one may be chance.
const STARVED: u64 = 2;
/// From this part of the pool's working threads on, in per cent, it is blocking that makes work wait.
const MOSTLY_BLOCKED: f64 = 50.0;
/// A queue of this part of its first length, in per cent, is not being worked off.
const STILL_AS_LONG: f64 = 90.0;

/// Work that waits for less than this, in seconds, is on its way: every busy pool has some.
const LEAST_WAIT: f64 = 0.1;

/// What the threads of the pool did at work, in samples.
struct Work<'a> {
    /// All samples of threads at work.
    samples: u64,
    /// Of these, in threads that waited for something.
    blocked: u64,
    /// Who blocks: by method of the program's own, or else of the framework.
    by_method: Vec<Blocker<'a>>,
    stacks: HashMap<StackKey, u64>,
}

struct Blocker<'a> {
    method: MethodId,
    frame: &'a Frame,
    samples: u64,
    doing: BTreeMap<Doing, u64>,
}

impl Blocker<'_> {
    fn mostly(&self) -> Doing {
        self.doing.iter().max_by_key(|(_, samples)| **samples).map_or(Doing::Outside, |(doing, _)| *doing)
    }
}

fn work<'a>(collected: &'a Collected, doings: &mut Doings<'_>) -> Work<'a> {
    let calls = &collected.calls;
    let mut work = Work { samples: 0, blocked: 0, by_method: Vec::new(), stacks: HashMap::new() };
    let mut by_method: HashMap<MethodId, Blocker<'_>> = HashMap::new();
    for ((_, stack, mode), samples) in &collected.samples {
        let Some(stack) = stack.filter(|stack| doings.in_pool(*stack)) else { continue };
        let doing = doings.of(Some(stack), *mode);
        work.samples += samples;
        if doing == Doing::Runs {
            continue;
        }
        work.blocked += samples;
        *work.stacks.entry(stack).or_default() += samples;
        let named = calls.own_frame(stack).or_else(|| calls.frames(stack).next());
        if let Some((method, frame)) = named {
            let blocker = by_method.entry(method).or_insert_with(|| Blocker {
                method,
                frame,
                samples: 0,
                doing: BTreeMap::new(),
            });
            blocker.samples += samples;
            *blocker.doing.entry(doing).or_default() += samples;
        }
    }
    work.by_method = by_method.into_values().collect();
    work.by_method.sort_by_key(|blocker| (Reverse(blocker.samples), blocker.frame.name.clone()));
    work
}

#[expect(clippy::cast_precision_loss, reason = "a number of threads for people to read")]
fn on_average(samples: u64, rounds: u64) -> f64 {
    if rounds == 0 { 0.0 } else { samples as f64 / rounds as f64 }
}

/// First, last, lowest and highest of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Course {
    first: f64,
    last: f64,
    low: f64,
    high: f64,
}

impl Course {
    fn of(points: impl Iterator<Item = f64>) -> Option<Course> {
        points.fold(None, |course: Option<Course>, value| {
            let course = course.unwrap_or(Course { first: value, last: value, low: value, high: value });
            Some(Course { last: value, low: course.low.min(value), high: course.high.max(value), ..course })
        })
    }
}

struct Pool {
    threads: Option<Course>,
    queue: Option<Course>,
    done: Option<Course>,
    /// Work items done a second, on average.
    done_mean: f64,
}

impl Pool {
    fn of(told: &Told) -> Pool {
        let counted = Course::of(told.threads.iter().map(|(_, value)| *value));
        let workers = Course::of(told.workers.iter().map(|(_, workers)| f64::from(*workers)));
        // The events see what happens between two counters; the counters see a pool that does not change.
        let threads = match (counted, workers) {
            (Some(counted), Some(workers)) => Some(Course {
                first: workers.first,
                last: counted.last.max(workers.last),
                low: counted.low.min(workers.low),
                high: counted.high.max(workers.high),
            }),
            (counted, workers) => counted.or(workers),
        };
        let values = |points: &[(u64, f64)]| Course::of(points.iter().map(|(_, value)| *value));
        #[expect(clippy::cast_precision_loss, reason = "a mean for people to read")]
        let done_mean =
            told.done.iter().map(|(_, value)| *value).sum::<f64>() / (told.done.len().max(1) as f64);
        Pool { threads, queue: values(&told.queue), done: values(&told.done), done_mean }
    }

    /// Whether work waited in each reading, longer than work takes to be fetched, and as much at the end as at the start.
    fn queue_stays(&self) -> bool {
        self.queue.is_some_and(|queue| {
            // How long an item waits is how many wait by how many are done a second.
            let waits = queue.low > 0.0 && queue.low >= self.done_mean * LEAST_WAIT;
            waits && queue.last * 100.0 >= queue.first * STILL_AS_LONG
        })
    }
}

pub(super) fn answer(collected: &Collected, settings: &Settings) -> Answer {
    let calls = &collected.calls;
    let mut doings = Doings::new(calls, collected.kinds);
    for ((_, stack, mode), samples) in &collected.samples {
        doings.count(*stack, *mode, *samples);
    }
    let work = work(collected, &mut doings);
    let pool = Pool::of(&collected.told);
    let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
    let starvation = starvation(collected, &pool, &work);
    let mut findings: Vec<Finding> = Vec::new();
    let starving = starvation.is_some();
    findings.extend(starvation);
    findings.extend(blocked_on_tasks(collected, &mut doings));
    let mut sections = vec![pool_table(&pool, collected)];
    if work.blocked > 0 {
        sections.push(blocking_table(calls, &work, collected.rounds, top));
    }
    sections.extend(course(&collected.told));
    if work.blocked > 0 {
        let tree = calls.tree(&work.stacks, Unit::Count, Framework::Fold);
        sections.push(Section::new("calls", "Stacks of blocked pool threads, in samples", Body::Tree(tree)));
    }
    Answer {
        summary: summary(collected, &pool, &work, starving),
        findings,
        sections,
        notes: notes(collected),
        cost: collected.cost.clone(),
        measured: collected.measured,
        end: collected.end,
        ..Answer::default()
    }
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn from_to(course: Option<Course>) -> String {
    course.map_or_else(
        || "unknown".to_owned(),
        |course| format!("{} at the start, {} at the end", whole(course.first), whole(course.last)),
    )
}

fn starvation(collected: &Collected, pool: &Pool, work: &Work<'_>) -> Option<Finding> {
    let told = &collected.told;
    let blocked = percent(work.blocked, work.samples);
    let seen = collected.rounds > 0;
    if seen && (work.samples == 0 || blocked < MOSTLY_BLOCKED) {
        return None;
    }
    let grows = told.starved >= STARVED;
    // A pool at its limit cannot grow; a queue that stays tells then, if somebody fills it who is blocked himself.
    let stuck = pool.queue_stays() && seen;
    if !(grows && pool.queue.is_none_or(|queue| queue.high > 0.0) || stuck) {
        return None;
    }
    let severity = if pool.queue_stays() { Severity::Critical } else { Severity::Warning };
    let confidence = if grows && seen { Confidence::High } else { Confidence::Medium };
    let title = if pool.queue_stays() {
        "The thread pool starves: work waits, and its threads are blocked"
    } else {
        "The thread pool is short of threads: it adds some because others are blocked"
    };
    let mut finding = Finding::new("thread-pool-starvation", severity, confidence, title)
        .fact(Fact::measured([
            ("queue-at-the-end", Value::Mean(pool.queue.map_or(f64::NAN, |queue| queue.last))),
            ("threads-at-the-end", Value::Mean(pool.threads.map_or(f64::NAN, |threads| threads.last))),
            ("threads-added", Value::Count(told.starved)),
            ("done", Value::PerSecond(pool.done_mean)),
            ("blocked", Value::Percent(if seen { blocked } else { f64::NAN })),
            ("window", Value::time(collected.measured)),
        ]))
        .evidence("Work items waiting", from_to(pool.queue))
        .evidence("Threads", from_to(pool.threads))
        .evidence("Threads added", added(collected))
        .evidence("Work items done", format!("{:.0} a second", pool.done_mean));
    if seen {
        finding = finding.evidence("Blocked threads", format!("{blocked:.0} % of those at work"));
    }
    if let Some(first) = work.by_method.first() {
        finding = finding.culprit(blame::method(first.frame));
        if first.mostly() == Doing::WaitsForTask {
            finding = finding.advice("Await the task there instead of blocking until it ends.");
        }
    }
    Some(finding.advice("Make what blocks pool threads asynchronous, or give it threads of its own.").advice(
        "Until then ThreadPool.SetMinThreads above the number of blocked threads eases it; the cause stays.",
    ))
}

/// How many threads the pool added, and how fast.
fn added(collected: &Collected) -> String {
    let starved = collected.told.starved;
    let seconds = collected.measured.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
    let rate = if seconds > 0.0 { starved as f64 / seconds } else { 0.0 };
    format!("{starved} because work waited, {rate:.1} a second")
}

fn blocked_on_tasks(collected: &Collected, doings: &mut Doings<'_>) -> Option<Finding> {
    let mut pool = BlockedPool::default();
    for ((_, stack, mode), samples) in &collected.samples {
        if let Some(stack) = stack {
            let doing = doings.of(Some(*stack), *mode);
            pool.add(&collected.calls, doings, *stack, doing, *samples);
        }
    }
    sync_over_async(&pool, collected.rounds)
}

fn pool_table(pool: &Pool, collected: &Collected) -> Section {
    let mut table = Table::new([
        Column::new("what", "", Unit::Text),
        Column::new("start", "Start", Unit::Count),
        Column::new("end", "End", Unit::Count),
        Column::new("low", "Lowest", Unit::Count),
        Column::new("high", "Highest", Unit::Count),
    ]);
    for (name, course) in [
        ("Threads", pool.threads),
        ("Work items waiting", pool.queue),
        ("Work items done a second", pool.done),
    ] {
        let cell = |of: fn(&Course) -> f64| Cell::from(course.as_ref().map(|course| of(course).round()));
        table.push([
            Cell::from(name),
            cell(|course| course.first),
            cell(|course| course.last),
            cell(|course| course.low),
            cell(|course| course.high),
        ]);
    }
    let added = Cell::from(collected.told.starved);
    table.push([Cell::from("Threads added because work waited"), Cell::Missing, added]);
    Section::new("pool", "The pool", Body::Table(table))
}

fn blocking_table(calls: &Calls, work: &Work<'_>, rounds: u64, top: usize) -> Section {
    let mut table = Table::new([
        Column::new("method", "Method", Unit::Text),
        Column::new("threads", "Threads", Unit::Count),
        Column::new("share", "Of the pool's work", Unit::Percent),
        Column::new("doing", "Mostly", Unit::Text),
    ]);
    for blocker in work.by_method.iter().take(top) {
        let threads = on_average(blocker.samples, rounds);
        table.push([
            Cell::from(calls.method_name(blocker.method)),
            Cell::from((threads * 10.0).round() / 10.0),
            Cell::from(percent(blocker.samples, work.samples)),
            Cell::from(blocker.mostly().words()),
        ]);
    }
    table.omitted_rows = work.by_method.len().saturating_sub(top) as u64;
    Section::new("blocking", "What blocks pool threads, on average", Body::Table(table))
}

fn course(told: &Told) -> Option<Section> {
    let line = |label: &str, points: &[(u64, f64)]| {
        let points = points.iter().map(|(at_ns, value)| Point { at_ns: *at_ns, value: *value }).collect();
        Line { label: label.to_owned(), points }
    };
    let lines: Vec<Line> = [
        line("Threads", &told.threads),
        line("Work items waiting", &told.queue),
        line("Work items done a second", &told.done),
    ]
    .into_iter()
    .filter(|line| line.points.len() > 1)
    .collect();
    let series = Series { unit: Unit::Count, lines };
    (!series.lines.is_empty()).then(|| Section::new("course", "Over time", Body::Series(series)))
}

fn summary(collected: &Collected, pool: &Pool, work: &Work<'_>, starving: bool) -> String {
    let window = format_duration(collected.measured);
    let threads = pool.threads.map_or("?".to_owned(), |threads| whole(threads.last));
    let queue = pool.queue.map_or("?".to_owned(), |queue| whole(queue.last));
    let done = format!("{:.0} done a second", pool.done_mean);
    let at_work = on_average(work.samples, collected.rounds);
    let blocked = on_average(work.blocked, collected.rounds);
    let numbers = format!("{threads} threads, {queue} work items waiting, {done}");
    if starving {
        let by = work.by_method.first().map_or(String::new(), |first| {
            let name = collected.calls.method_name(first.method);
            format!(": {blocked:.0} of {at_work:.0} working threads are blocked, most in {name}")
        });
        return format!("Work waits for threads{by}. {numbers}, over {window}.");
    }
    if pool.threads.is_none() && work.samples == 0 {
        return format!("The thread pool did nothing in {window}.");
    }
    let state = if pool.queue_stays() { "Work waits for threads" } else { "The pool keeps up" };
    if collected.rounds == 0 {
        return format!("{state}: {numbers} over {window}.");
    }
    format!(
        "{state}: {numbers} over {window}; {at_work:.1} threads at work on average, {blocked:.1} of them blocked."
    )
}

fn notes(collected: &Collected) -> Vec<String> {
    let mut notes = collected.notes.clone();
    let told = &collected.told;
    if told.queue.is_empty() {
        notes.push(
            "No counter came within the window, so the length of the queue is unknown; look for 3 s or more."
                .to_owned(),
        );
    }
    if !told.reasons.is_empty() {
        let reasons: Vec<String> =
            told.reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        notes.push(format!("Why the pool changed its number of threads: {}.", reasons.join(", ")));
    }
    if let Some((min, max)) = told.limits {
        notes.push(format!("Limits of the pool: at least {min}, at most {max} threads."));
    }
    if collected.looks > 0 {
        notes.push(format!(
            "Stacks are from {} looks with {} rounds of samples in all.",
            collected.looks, collected.rounds
        ));
    }
    notes
}
