//! Analysing: from paths to an answer.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use facts::{Caller, Fact, Value};
use model::{
    Body, Cell, Column, Confidence, Cost, Finding, Frame, Node, Section, Severity, Table, Tree, Unit,
    WindowEnd, awaited_by, format_duration,
};

use super::collect::{Shortcoming, Spent};
use super::paths::{ASYNC, InFlight, Path, Paths, Step, add};
use crate::Settings;
use crate::blame::{is_own, method, place};
use crate::profiler::Answer;
use crate::ratio::{fraction, nanos, percent, percent_words};
use crate::shortage::Shortage;

/// A hot async method has at least this part of all processor time, in per cent,
const MOST_OF_IT: f64 = 50.0;
/// and keeps a processor busy for this part of the window, in per cent.
const BUSY: f64 = 50.0;
/// Fewer looks prove nothing.
const LEAST_LOOKS: u64 = 20;
/// Deepest path that is shown.
const DEEPEST: usize = 200;

/// What is known of the visit.
pub(super) struct About {
    pub(super) cost: Cost,
    pub(super) notes: Vec<String>,
    pub(super) measured: Duration,
    pub(super) end: WindowEnd,
    /// Processors that were missing.
    pub(super) shortage: Shortage,
}

pub(super) fn answer(paths: &Paths, about: About, settings: &Settings) -> Answer {
    let mut total = Spent::default();
    paths.paths.iter().for_each(|path| add(&mut total, path.spent));
    let methods = methods(paths);
    let mut sections = Vec::new();
    if !methods.is_empty() {
        sections.push(method_table(&methods, paths, &total, &about, settings.integer("top")));
        let least = settings.integer("least");
        sections.push(Section::new(
            "tree",
            "Who awaits whom, from the root",
            Body::Tree(tree(paths, &total, &about, least)),
        ));
    }
    let finding = finding(&methods, paths, &about);
    Answer {
        summary: summary(&methods, paths, &total, &about),
        findings: finding.into_iter().collect(),
        sections,
        notes: notes(paths, &total, &about),
        cost: about.cost,
        measured: about.measured,
        end: about.end,
        ..Answer::default()
    }
}

fn words(nanoseconds: u64) -> String {
    format_duration(Duration::from_nanos(nanoseconds))
}

/// An async method, with what it calls that is not async.
struct Row<'a> {
    frame: &'a Frame,
    /// In it, and in methods that it calls and that are not async.
    itself: Spent,
    /// On its behalf: in what it awaits, too.
    total: Spent,
    /// How many were not finished, on average.
    in_flight: f64,
    /// By the async method that awaits it; none for a root.
    callers: HashMap<Option<&'a str>, u64>,
}

impl<'a> Row<'a> {
    fn of(frame: &'a Frame) -> Row<'a> {
        Row {
            frame,
            itself: Spent::default(),
            total: Spent::default(),
            in_flight: 0.0,
            callers: HashMap::new(),
        }
    }

    /// Nothing to show.
    fn is_empty(&self) -> bool {
        self.total.cpu_ns + self.total.blocked_ns == 0 && self.in_flight <= 0.0
    }
}

/// The time that so many took together in the window: each lasts as long as it is in flight.
fn wall(in_flight: f64, about: &About) -> u64 {
    nanos(about.measured.mul_f64(in_flight.clamp(0.0, 1e6)))
}

fn methods(paths: &Paths) -> Vec<Row<'_>> {
    let mut rows: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for path in &paths.paths {
        let on_path: Vec<&Step> = path.steps.iter().filter(|step| step.is_async).collect();
        for (at, step) in on_path.iter().enumerate() {
            let row = rows.entry(&step.frame.name).or_insert_with(|| Row::of(&step.frame));
            // A method that awaits itself counts once.
            if on_path[..at].iter().all(|outer| outer.frame.name != step.frame.name) {
                add(&mut row.total, path.spent);
            }
            if at + 1 == on_path.len() {
                add(&mut row.itself, path.spent);
                let caller = on_path.iter().rev().nth(1).map(|caller| caller.frame.name.as_str());
                *row.callers.entry(caller).or_default() += path.spent.cpu_ns;
            }
        }
    }
    // After those that ran: their frames have lines.
    for waiting in paths.in_flight.iter().flatten() {
        if let Some(step) = waiting.steps.last() {
            rows.entry(&step.frame.name).or_insert_with(|| Row::of(&step.frame)).in_flight += waiting.mean;
        }
    }
    let mut rows: Vec<Row<'_>> = rows.into_values().collect();
    rows.sort_by(|a, b| {
        (b.itself.cpu_ns, b.total.cpu_ns, &a.frame.name).cmp(&(
            a.itself.cpu_ns,
            a.total.cpu_ns,
            &b.frame.name,
        ))
    });
    rows
}

/// Who awaits a method, most of its time first.
fn awaiting(row: &Row<'_>) -> Vec<Caller> {
    let all: u64 = row.callers.values().sum();
    let mut callers: Vec<_> = row.callers.iter().filter(|(_, cpu)| **cpu > 0).collect();
    callers.sort_by(|(a, few), (b, many)| many.cmp(few).then(a.cmp(b)));
    let caller = |(method, cpu): (&Option<&str>, &u64)| Caller {
        method: method.map(str::to_owned),
        percent: percent(*cpu, all),
    };
    callers.into_iter().map(caller).collect()
}

/// `Shop.Quote 75 %, Shop.Audit 25 %`.
fn callers(row: &Row<'_>) -> String {
    awaited_by(&awaiting(row))
}

fn summary(rows: &[Row<'_>], paths: &Paths, total: &Spent, about: &About) -> String {
    let window = words(nanos(about.measured));
    let Some(first) = rows.first().filter(|row| row.itself.cpu_ns > 0) else {
        return format!("No async method was seen using the CPU in {window}.");
    };
    format!(
        "Async methods used {} of the {} of CPU in {window}; {} of it in {}.",
        words(total.cpu_ns),
        words(paths.process_cpu_ns),
        percent_words(percent(first.itself.cpu_ns, total.cpu_ns)),
        place(first.frame),
    )
}

fn method_table(rows: &[Row<'_>], paths: &Paths, total: &Spent, about: &About, top: u64) -> Section {
    let top = usize::try_from(top).unwrap_or(usize::MAX);
    let mut table = Table::new([
        Column::new("method", "Async method", Unit::Text),
        Column::new("self", "Self", Unit::Nanoseconds),
        Column::new("self-percent", "Share", Unit::Percent),
        Column::new("total", "With awaited", Unit::Nanoseconds),
        Column::new("wall", "Wall", Unit::Nanoseconds),
        Column::new("awaited-by", "Awaited by", Unit::Text),
    ]);
    let shown = rows.iter().filter(|row| !row.is_empty());
    for row in shown.clone().take(top) {
        table.push([
            Cell::from(place(row.frame)),
            Cell::from(row.itself.cpu_ns),
            Cell::from(percent(row.itself.cpu_ns, total.cpu_ns)),
            Cell::from(row.total.cpu_ns),
            Cell::from(paths.in_flight.as_ref().map(|_| wall(row.in_flight, about))),
            Cell::from(callers(row)),
        ]);
    }
    table.omitted_rows = shown.count().saturating_sub(top) as u64;
    Section::new("methods", "Async methods by CPU", Body::Table(table))
}

#[derive(Default)]
struct Branch<'a> {
    children: BTreeMap<&'a str, Branch<'a>>,
    total: Spent,
    itself: Spent,
    is_async: bool,
    in_flight: f64,
}

fn tree(paths: &Paths, total: &Spent, about: &About, least: u64) -> Tree {
    let mut root = Branch::default();
    for InFlight { steps, mean } in paths.in_flight.iter().flatten() {
        let mut at = &mut root;
        for step in steps.iter().take(DEEPEST) {
            at = at.children.entry(&step.frame.name).or_default();
            at.is_async = true;
        }
        at.in_flight += mean;
    }
    for Path { steps, spent } in &paths.paths {
        let mut at = &mut root;
        for step in steps.iter().take(DEEPEST) {
            at = at.children.entry(&step.frame.name).or_default();
            at.is_async |= step.is_async;
            add(&mut at.total, *spent);
        }
        add(&mut at.itself, *spent);
    }
    let columns = vec![
        Column::new("cpu", "CPU", Unit::Nanoseconds),
        Column::new("percent", "Share", Unit::Percent),
        Column::new("self", "Self", Unit::Nanoseconds),
        Column::new("blocked", "Blocked", Unit::Nanoseconds),
        Column::new("wall", "Wall", Unit::Nanoseconds),
    ];
    let in_flight = paths.in_flight.as_ref().map(|all| all.iter().map(|waiting| waiting.mean).sum());
    let shown = Shown { total: *total, about, least, in_flight };
    Tree { columns, roots: shown.nodes(&root) }
}

/// What of the tree is shown.
struct Shown<'a> {
    total: Spent,
    about: &'a About,
    least: u64,
    /// All methods that were not finished, on average, if they were counted.
    in_flight: Option<f64>,
}

impl Shown<'_> {
    /// Depth is bounded by [`DEEPEST`], so this may recurse.
    fn nodes(&self, branch: &Branch<'_>) -> Vec<Node> {
        let mut children: Vec<_> = branch.children.iter().filter(|(_, child)| self.is_shown(child)).collect();
        children.sort_by(|(a, few), (b, many)| {
            (many.total.cpu_ns, many.total.blocked_ns, a).cmp(&(few.total.cpu_ns, few.total.blocked_ns, b))
        });
        let node = |(name, child): (&&str, &Branch<'_>)| Node {
            label: if child.is_async { format!("{name}{ASYNC}") } else { (*name).to_owned() },
            values: vec![
                Cell::from(child.total.cpu_ns),
                Cell::from(percent(child.total.cpu_ns, self.total.cpu_ns)),
                Cell::from(child.itself.cpu_ns),
                Cell::from(child.total.blocked_ns),
                Cell::from(
                    self.in_flight.filter(|_| child.is_async).map(|_| wall(child.in_flight, self.about)),
                ),
            ],
            children: self.nodes(child),
        };
        children.into_iter().map(node).collect()
    }

    /// A branch is worth its line for the time on threads, or because something in it lasts.
    fn is_shown(&self, branch: &Branch<'_>) -> bool {
        let size = |spent: &Spent| spent.cpu_ns + spent.blocked_ns;
        let on_threads = size(&branch.total);
        on_threads > 0 && on_threads * 100 >= self.least * size(&self.total)
            || self.in_flight.is_some_and(|all| {
                branch.in_flight > 0.0 && branch.in_flight * 100.0 >= fraction(self.least) * all
            })
            || branch.children.values().any(|child| self.is_shown(child))
    }
}

fn finding(rows: &[Row<'_>], paths: &Paths, about: &About) -> Option<Finding> {
    let first = rows.iter().find(|row| is_own(row.frame))?;
    let share = percent(first.itself.cpu_ns, paths.process_cpu_ns);
    let of_core = percent(first.itself.cpu_ns, nanos(about.measured));
    // What others took from it is no rest.
    let is_busy = of_core * about.shortage.slowdown() >= BUSY;
    if first.itself.looks < LEAST_LOOKS || share < MOST_OF_IT || !is_busy {
        return None;
    }
    let finding = Finding::new(
        "async-hot-path",
        Severity::Warning,
        Confidence::High,
        format!("{} of the CPU time goes to one async method", percent_words(share)),
    )
    .culprit(method(first.frame))
    .fact(Fact::measured([
        ("cpu", Value::Nanoseconds(first.itself.cpu_ns)),
        ("cpu-of-process", Value::Nanoseconds(paths.process_cpu_ns)),
        ("window", Value::time(about.measured)),
    ]))
    .evidence(
        "CPU",
        format!(
            "{} in {}, {} of one core",
            words(first.itself.cpu_ns),
            words(nanos(about.measured)),
            percent_words(of_core)
        ),
    )
    .fact(Fact::AwaitedBy { method: None, callers: awaiting(first) })
    .evidence("Awaited by", callers(first));
    Some(
        finding
            .advice("The tree shows on whose behalf it runs: begin with the caller that asks most often.")
            .advice("Work that takes long keeps a thread of the pool from others; `drdotnet run thread-pool` tells whether they wait."),
    )
}

fn notes(paths: &Paths, total: &Spent, about: &About) -> Vec<String> {
    let mut notes = Vec::new();
    if paths.lost.cpu_ns > 0 {
        notes.push(format!(
            "Of {} of async CPU time it is not known who awaits it: the method's own object was not found.",
            percent_words(percent(paths.lost.cpu_ns, total.cpu_ns))
        ));
    }
    if paths.elsewhere.cpu_ns > 0 {
        notes.push(format!(
            "{} of async CPU time is awaited in the end by something else than an async method, which is not shown \
             (a blocked thread, a callback, a combination of tasks).",
            percent_words(percent(paths.elsewhere.cpu_ns, total.cpu_ns))
        ));
    }
    notes.push(match (paths.shortcoming, &paths.in_flight) {
        (Some(Shortcoming::NoWalk), _) => {
            "Wall time is not known: only .NET 9 and newer let their unfinished async methods be counted."
                .to_owned()
        }
        (Some(Shortcoming::LargeHeap), _) => {
            "Wall time is not known: the heap is too large to count unfinished async methods in 100 ms."
                .to_owned()
        }
        (None, Some(_)) => {
            "Wall time is that of all calls of a method together, from its start to its end, awaits \
                            included; by counting those that are not finished."
                .to_owned()
        }
        (None, None) => "Wall time is not known: unfinished async methods were not counted.".to_owned(),
    });
    if paths.not_async.cpu_ns > 0 {
        notes.push(format!("{} of CPU was not on behalf of async methods.", words(paths.not_async.cpu_ns)));
    }
    if paths.unseen_cpu_ns > 0 {
        notes.push(format!(
            "{} of CPU was used by threads that were not seen running .NET code: the collector, the compiler, others.",
            words(paths.unseen_cpu_ns)
        ));
    }
    notes.push(format!("{} looks.", paths.looks));
    notes.extend(about.shortage.note());
    notes.extend(about.notes.iter().cloned());
    notes
}
