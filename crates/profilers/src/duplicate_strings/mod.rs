//! `duplicate-strings`: which strings are on the heap many times, what that wastes, and who holds them.

mod answer;
mod strings;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use heap_collector::Taken;
use heap_graph::{HeapGraph, NodeId, ShortestPaths, shapes_to};
use model::{Culprit, WindowEnd};

use crate::about::About;
use crate::heap::holders::{culprit, path_names, path_words};
use crate::heap::memory::{Inside, Outside, size_on_heap};
use crate::heap::{self, ALLOW_PAUSE};
use crate::inside;
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

use strings::{Equal, Found, Reader, size_of};

/// Finds strings that are there many times.
pub struct DuplicateStrings;

static SPEC: Spec = Spec {
    id: "duplicate-strings",
    name: "Duplicate strings",
    question: "Which strings are there many times, and who holds them?",
    engine: Engine::Heap,
    parameters: &[
        Parameter {
            name: "least",
            kind: Kind::Integer { min: 1, max: 1_000_000, default: 4 },
            help: "megabytes wasted from which it is an illness",
        },
        Parameter {
            name: "share",
            kind: Kind::Integer { min: 1, max: 100, default: 10 },
            help: "per cent of the heap wasted from which it is an illness",
        },
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 500, default: 20 },
            help: "how many strings to list at most",
        },
        ALLOW_PAUSE,
    ],
    since: "3.1",
    pause: Pause::Heap,
    cost: "all of the heap is told once; strings are read while the process runs",
    duration: Duration::from_secs(1),
};

/// Where strings are held.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    path: String,
    /// The fields and types of the path, by their full names.
    names: Vec<String>,
    copies: u64,
    culprit: Option<Culprit>,
}

/// A string that is there many times.
#[derive(Clone, Debug)]
struct Duplicate {
    text: Option<String>,
    letters: u32,
    copies: u64,
    wasted: u64,
    /// Most copies first, and how many copies more are held in other ways.
    held: Vec<Held>,
    others: u64,
}

impl Duplicate {
    /// What each takes.
    fn size(&self) -> u64 {
        size_of(self.letters)
    }
}

/// What was seen.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Strings on the heap, those that were read, and different ones among these.
    strings: u64,
    read: u64,
    different: u64,
    /// Bytes of all strings, and of all objects.
    string_bytes: u64,
    heap_bytes: u64,
    /// What all copies but one of each take.
    wasted: u64,
    /// The part of it that more than running methods hold.
    lasting: u64,
    /// Different strings of which there are several.
    repeated: u64,
    /// The worst.
    worst: Vec<Duplicate>,
    /// All copies by where they are held.
    held: Vec<Held>,
    /// Whether an agent had to read them.
    by_agent: bool,
}

/// Ways to hold one string that are told, and ways to hold all of them.
const WAYS: usize = 2;
const ALL_WAYS: usize = 10;

impl Profiler for DuplicateStrings {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let began = Instant::now();
        let (taken, mut notes, mut cost) = heap::take_or_go_on(run)?;
        let paths = ShortestPaths::from_lasting_roots(&taken.graph);
        let strings = strings_of(&taken, &paths);
        let top = usize::try_from(run.settings.integer("top")).unwrap_or(usize::MAX);
        let class = string_types(&taken.graph).find_map(|id| taken.handles.get(&id).copied());
        let outside = run.process.visible.then(|| Outside::open(run.process.pid)).flatten();
        let by_agent = outside.is_none();
        let found = match outside {
            Some(mut outside) => Reader::new(&taken.graph, &mut outside, class).find(strings, top),
            None => {
                let visited = inside::visit(run, SPEC.id, |guest| {
                    let mut memory = Inside { guest, failed: None };
                    let found = Reader::new(&taken.graph, &mut memory, class).find(strings, top);
                    memory.failed.map_or(Ok(found), Err)
                })?;
                notes.extend(visited.notes);
                cost.method = format!("{}; {}", cost.method, visited.cost.method);
                visited.value
            }
        };
        cost.bytes += found.fetched;
        // A heap that was handed on has cost nothing here.
        if cost.pauses.count > 0 {
            cost.events += taken.graph.node_count() as u64;
        }
        let seen = Seen { by_agent, ..see(&taken, &paths, &found, top) };
        let end = WindowEnd::Completed;
        let about = About { cost, notes, measured: began.elapsed(), end };
        Ok(answer::answer(&seen, about, run.settings))
    }
}

fn string_types(graph: &HeapGraph) -> impl Iterator<Item = heap_graph::TypeId> + '_ {
    graph.types_named("System.String")
}

/// All strings that something refers to.
fn strings_of(taken: &Taken, paths: &ShortestPaths) -> Vec<NodeId> {
    let graph = &taken.graph;
    let types: Vec<_> = string_types(graph).collect();
    let strings = graph.nodes().filter(|node| types.contains(&graph.type_of(*node)));
    strings.filter(|node| !taken.garbage || paths.holder(*node).is_some()).collect()
}

fn see(taken: &Taken, paths: &ShortestPaths, found: &Found, top: usize) -> Seen {
    let graph = &taken.graph;
    let alive = graph.nodes().filter(|node| !taken.garbage || paths.holder(*node).is_some());
    let all = found.equal.iter().flat_map(|equal| equal.nodes.iter().copied());
    Seen {
        strings: found.strings,
        read: found.read,
        different: found.different,
        string_bytes: found.bytes,
        heap_bytes: alive.map(|node| size_on_heap(graph, node)).sum(),
        wasted: found.wasted(),
        lasting: lasting(graph, found),
        repeated: found.equal.len() as u64,
        worst: found.equal.iter().take(top).map(|equal| duplicate(graph, paths, equal)).collect(),
        held: held(graph, paths, all, ALL_WAYS).0,
        by_agent: false,
    }
}

/// What copies take that something else than a running method holds.
fn lasting(graph: &HeapGraph, found: &Found) -> u64 {
    let paths = ShortestPaths::without_locals(graph);
    let of = |equal: &Equal| {
        let copies = equal.nodes.iter().filter(|node| paths.holder(**node).is_some()).count() as u64;
        copies.saturating_sub(1).saturating_mul(size_of(equal.letters))
    };
    found.equal.iter().map(of).fold(0, u64::saturating_add)
}

fn duplicate(graph: &HeapGraph, paths: &ShortestPaths, equal: &Equal) -> Duplicate {
    let (held, others) = held(graph, paths, equal.nodes.iter().copied(), WAYS);
    Duplicate {
        text: equal.text.clone(),
        letters: equal.letters,
        copies: equal.copies(),
        wasted: equal.wasted(),
        held,
        others,
    }
}

/// The ways in which objects are held, most first, and how many are held in others.
fn held(
    graph: &HeapGraph,
    paths: &ShortestPaths,
    nodes: impl Iterator<Item = NodeId>,
    limit: usize,
) -> (Vec<Held>, u64) {
    let shapes = shapes_to(graph, paths, nodes, limit);
    let ways = shapes.shapes.iter().map(|shape| Held {
        path: path_words(graph, shape),
        names: path_names(graph, shape),
        copies: shape.objects,
        culprit: culprit(graph, shape),
    });
    (ways.collect(), shapes.others.objects)
}
