//! Two looks at the queue of objects that wait for their finalizer, and at the thread that runs finalizers.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use heap_collector::Taken;
use heap_graph::{Dominators, HeapGraph, NodeId, RootKind};
use model::{Cost, Frame, WindowEnd};

use crate::ProfilerError;
use crate::blame;
use crate::heap;
use crate::inside::{self, Namer, Native, Seen as Thread, Unnamed};
use crate::profiler::{Run, Stop};

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
    pub(super) retained: u64,
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
    /// What only the queue keeps alive, at the second look.
    pub(super) kept: u64,
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

/// One look: the stacks first, because a collection wakes the thread.
struct Look {
    threads: Unnamed,
    taken: Taken,
    at: Instant,
}

fn look(run: &Run<'_>, spent: &mut Spent) -> Result<Look, ProfilerError> {
    // One after the other: an old runtime bears one agent at a time, and taking the heap may need one.
    let visited = inside::visit(run, super::SPEC.id, |guest| Unnamed::take(guest, Native::Hide))?;
    let at = Instant::now();
    let (taken, notes) = heap::take(run)?;
    add(&mut spent.cost, &visited.cost);
    add(&mut spent.cost, &heap::cost(&[&taken]));
    for note in visited.notes.into_iter().chain(notes) {
        if !spent.notes.contains(&note) {
            spent.notes.push(note);
        }
    }
    Ok(Look { threads: visited.value, taken, at })
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
    let Look { threads: first, taken, at } = look(run, &mut spent)?;
    let mut seen = Seen { collections: taken.collections, ..Seen::default() };
    let mut rows: HashMap<String, Row> = HashMap::new();
    for node in queue(&taken.graph) {
        row(&mut rows, &taken.graph, node).before += 1;
        seen.waiting.0 += 1;
    }
    drop(taken);
    spent.end = wait(run);
    if spent.end == WindowEnd::TargetExited {
        return Err(ProfilerError::TargetEnded);
    }
    let second = look(run, &mut spent)?;
    let graph = &second.taken.graph;
    let dominators = Dominators::of(graph);
    for node in queue(graph) {
        let row = row(&mut rows, graph, node);
        row.now += 1;
        row.bytes = row.bytes.saturating_add(graph.size(node));
        row.retained = row.retained.saturating_add(dominators.retained(node));
        seen.waiting.1 += 1;
    }
    seen.rows = rows.into_values().collect();
    seen.rows.sort_by(|a, b| (b.now, b.before).cmp(&(a.now, a.before)).then(a.name.cmp(&b.name)));
    seen.kept = dominators.retained_by_kind(RootKind::Finalizer);
    seen.collections += second.taken.collections;
    seen.window = second.at.duration_since(at);
    see_thread(run, first, second.threads, &mut seen, &mut spent.cost);
    spent.measured = began.elapsed();
    Ok((seen, spent))
}

/// The objects that wait.
fn queue(graph: &HeapGraph) -> impl Iterator<Item = NodeId> + '_ {
    let queues = graph.roots().filter(|(_, root)| root.kind == RootKind::Finalizer);
    queues.flat_map(|(_, root)| root.targets().collect::<Vec<_>>())
}

fn row<'a>(rows: &'a mut HashMap<String, Row>, graph: &HeapGraph, node: NodeId) -> &'a mut Row {
    let name = &graph.type_info(graph.type_of(node)).name;
    if !rows.contains_key(&**name) {
        rows.insert(name.to_string(), Row { name: name.to_string(), ..Row::default() });
    }
    rows.entry(name.to_string()).or_default()
}

fn see_thread(run: &Run<'_>, first: Unnamed, second: Unnamed, seen: &mut Seen, cost: &mut Cost) {
    let same = first.unmoved(&second);
    let mut namer = Namer::of(run.process, [first.stacks(), second.stacks()]);
    let (first, second) = (first.named(&mut namer), second.named(&mut namer));
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
