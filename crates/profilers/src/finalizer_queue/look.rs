//! Two looks at the queue of objects that wait for their finalizer, and at the thread that runs finalizers.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use heap_graph::{Dominators, RootKind};
use model::{Cost, Frame, WindowEnd};

use super::tables::Tables;
use crate::ProfilerError;
use crate::blame;
use crate::control::Stop;
use crate::heap::{self, memory::size_on_heap};
use crate::inside::monitor_waits::{self, MonitorWaits};
use crate::inside::{self, Namer, Native, Seen as Thread, Unnamed};
use crate::profiler::Run;

/// The name of the thread, from .NET 6 on.
const THREAD: &str = ".NET Finalizer";
/// What the runtime calls a finalizer.
const FINALIZER: &str = ".Finalize";
/// How often is looked whether the target still lives while we wait.
const SLICE: Duration = Duration::from_millis(100);

/// Objects of a type that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) before: u64,
    pub(super) now: u64,
    /// Of those now: their own bytes, and what they alone keep alive.
    pub(super) bytes: u64,
    pub(super) retained: Option<u64>,
}

/// The thread that runs finalizers.
#[derive(Clone, Debug)]
pub(super) struct Finalizer {
    pub(super) tid: u32,
    /// Its frames, innermost first.
    pub(super) frames: Vec<Frame>,
    /// What it does, in words.
    pub(super) doing: String,
    /// The finalizer that it runs: the outermost that is the program's own.
    pub(super) runs: Option<Frame>,
    /// The innermost frame of the program's own code.
    pub(super) at: Option<Frame>,
}

/// What was seen in both looks.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// By type; most first.
    pub(super) rows: Vec<Row>,
    /// How many wait at the first and at the second look.
    pub(super) waiting: (u64, u64),
    /// What only the queue keeps alive, at the second look, if the heap was taken for it.
    pub(super) kept: Option<u64>,
    pub(super) before: Option<Finalizer>,
    pub(super) now: Option<Finalizer>,
    /// Whether the thread stood in one place from one look to the other, and did nothing.
    pub(super) unmoved: bool,
    pub(super) window: Duration,
    /// Full collections that were forced: each also finds objects that wait from then on.
    pub(super) collections: u32,
}

/// What it took.
pub(super) struct Spent {
    pub(super) cost: Cost,
    pub(super) notes: Vec<String>,
    pub(super) measured: Duration,
    pub(super) end: WindowEnd,
}

/// Objects of a type that wait.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiting {
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) retained: u64,
}

/// One look.
struct Look {
    threads: Unnamed,
    waits: MonitorWaits,
    queue: HashMap<String, Waiting>,
    /// What only the queue keeps alive, if the heap was taken.
    kept: Option<u64>,
    collections: u32,
    at: Instant,
}

/// The stacks first, because a collection wakes the thread. The agent leaves before the heap is taken: an old runtime bears
/// one agent at a time, and taking the heap may need one.
fn look(run: &Run<'_>, tables: &mut Option<Tables>, spent: &mut Spent) -> Result<Look, ProfilerError> {
    let visited = inside::visit(run, super::SPEC.id, |guest| {
        let (threads, waits) = monitor_waits::take(guest, Native::Hide)?;
        let at = Instant::now();
        let queue = tables.as_mut().map(|tables| tables.read(guest)).transpose()?.flatten();
        Ok((threads, waits, at, queue))
    })?;
    let (threads, waits, at, queue) = visited.value;
    add(&mut spent.cost, &visited.cost);
    spent.note(visited.notes);
    if let Some(queue) = queue {
        return Ok(Look { threads, waits, queue, kept: None, collections: 0, at });
    }
    let (taken, notes) = heap::take(run)?;
    add(&mut spent.cost, &heap::cost(&[&taken]));
    spent.note(notes);
    let graph = &taken.graph;
    let dominators = Dominators::of(graph);
    let mut queue: HashMap<String, Waiting> = HashMap::new();
    for (_, root) in graph.roots().filter(|(_, root)| root.kind == RootKind::Finalizer) {
        for node in root.targets() {
            let name = &graph.type_info(graph.type_of(node)).name;
            let row = queue.entry(name.to_string()).or_default();
            row.count += 1;
            row.bytes = row.bytes.saturating_add(size_on_heap(graph, node));
            row.retained = row.retained.saturating_add(dominators.retained(node));
        }
    }
    let kept = Some(dominators.retained_by_kind(RootKind::Finalizer));
    Ok(Look { threads, waits, queue, kept, collections: taken.collections, at })
}

impl Spent {
    fn note(&mut self, notes: Vec<String>) {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

fn add(sum: &mut Cost, more: &Cost) {
    if sum.method.is_empty() {
        sum.method.clone_from(&more.method);
    } else if !sum.method.contains(&more.method) && !more.method.starts_with("an agent inside") {
        sum.method = format!("{}; {}", sum.method, more.method);
    }
    sum.pauses.count += more.pauses.count;
    sum.pauses.total_ns += more.pauses.total_ns;
    sum.pauses.longest_ns = sum.pauses.longest_ns.max(more.pauses.longest_ns);
    sum.bytes += more.bytes;
    sum.events += more.events;
}

/// Looks twice.
pub(super) fn twice(run: &Run<'_>) -> Result<(Seen, Spent), ProfilerError> {
    let began = Instant::now();
    let mut spent = Spent {
        cost: Cost::default(),
        notes: Vec::new(),
        measured: Duration::ZERO,
        end: WindowEnd::Completed,
    };
    let kept = run.settings.choice("kept") == "yes";
    let mut tables = if kept || !run.process.visible { None } else { Tables::open(run.process.pid) };
    let first = look(run, &mut tables, &mut spent)?;
    spent.end = wait(run);
    if spent.end == WindowEnd::TargetExited {
        return Err(ProfilerError::TargetEnded);
    }
    let second = look(run, &mut tables, &mut spent)?;
    let mut seen = Seen {
        kept: second.kept,
        collections: first.collections + second.collections,
        window: second.at.duration_since(first.at),
        ..Seen::default()
    };
    let mut rows: HashMap<String, Row> = HashMap::new();
    for (name, waiting) in first.queue {
        seen.waiting.0 += waiting.count;
        rows.insert(name.clone(), Row { name, before: waiting.count, ..Row::default() });
    }
    for (name, waiting) in second.queue {
        seen.waiting.1 += waiting.count;
        let row = rows.entry(name.clone()).or_insert_with(|| Row { name, ..Row::default() });
        (row.now, row.bytes) = (waiting.count, waiting.bytes);
        row.retained = second.kept.map(|_| waiting.retained);
    }
    seen.rows = rows.into_values().collect();
    seen.rows.sort_by(|a, b| (b.now, b.before).cmp(&(a.now, a.before)).then(a.name.cmp(&b.name)));
    see_thread(run, (first.threads, first.waits), (second.threads, second.waits), &mut seen, &mut spent.cost);
    spent.measured = began.elapsed();
    Ok((seen, spent))
}

/// What a look tells of threads.
type Threads = (Unnamed, MonitorWaits);

fn see_thread(run: &Run<'_>, first: Threads, second: Threads, seen: &mut Seen, cost: &mut Cost) {
    let same = first.0.unmoved(&second.0);
    let mut namer = Namer::of(run, [first.0.stacks(), second.0.stacks()]);
    let [first, second] = [first, second].map(|(threads, waits)| {
        let mut sight = threads.named(&mut namer);
        waits.tell(&mut sight);
        sight
    });
    namer.charge(cost);
    let (before, now) = (find(&first.threads), find(&second.threads));
    seen.unmoved = before.zip(now).is_some_and(|(before, now)| {
        same.contains(&now.inside) && !now.frames.is_empty() && did_nothing(before, now)
    });
    (seen.before, seen.now) = (before.map(Finalizer::of), now.map(Finalizer::of));
}

/// The thread that runs finalizers: by its name, or, where threads have none, by the finalizer that it runs.
fn find(threads: &[Thread]) -> Option<&Thread> {
    let runs_one = |thread: &&Thread| {
        let outermost = thread.frames.iter().rev().find(|frame| frame.module.is_some());
        outermost.is_some_and(|frame| frame.name.ends_with(FINALIZER))
    };
    threads.iter().find(|thread| thread.name == THREAD).or_else(|| threads.iter().find(runs_one))
}

/// Whether it got no processor from one look to the other.
fn did_nothing(before: &Thread, now: &Thread) -> bool {
    let ran = |thread: &Thread| thread.processor.map(|processor| processor.ran_ns);
    ran(before) == ran(now) && before.rests == now.rests
}

impl Finalizer {
    pub(super) fn of(thread: &Thread) -> Finalizer {
        let own = || thread.frames.iter().filter(|frame| blame::is_own(frame) && frame.module.is_some());
        let runs = thread.frames.iter().rev().find(|frame| frame.name.ends_with(FINALIZER));
        let outermost_own = own().rev().find(|frame| frame.name.ends_with(FINALIZER));
        Finalizer {
            tid: thread.tid(),
            frames: thread.frames.iter().map(|frame| Frame::clone(frame)).collect(),
            doing: match thread.frames.is_empty() {
                true => "idle".to_owned(),
                false => thread.why.words(),
            },
            runs: outermost_own.or(runs).map(|frame| Frame::clone(frame)),
            at: own().next().map(|frame| Frame::clone(frame)),
        }
    }
}

/// Waits for the run's time; shorter if the user wants the report now or the target ends.
fn wait(run: &Run<'_>) -> WindowEnd {
    let began = Instant::now();
    let process = process_view::Process::new(run.process.pid);
    loop {
        let left = run.duration.saturating_sub(began.elapsed());
        if left.is_zero() {
            return WindowEnd::Completed;
        }
        run.control.progress(began.elapsed(), run.duration, "waiting for the second look");
        if run.control.wait(left.min(SLICE)) == Stop::Cancelled {
            return WindowEnd::Cancelled;
        }
        if !process.is_alive() {
            return WindowEnd::TargetExited;
        }
    }
}
