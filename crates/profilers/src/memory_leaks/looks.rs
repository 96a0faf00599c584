//! The looks: taken over the time of the run, kept for later, and put side by side.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use heap_collector::{Taken, Way};
use heap_graph::{HeapGraph, PathTree, ShortestPaths, Totals, TypeId, TypeRow, growth};
use heap_reports::Look;
use model::{Cost, Pauses, Timestamp, WindowEnd};

use crate::about::About;
use crate::control::{Control, NotFound, Stop};
use crate::profiler::Run;
use crate::{ProfilerError, heap};

use super::answer::{Growing, Seen, Sight};
use super::leaks::Leak;
use super::places::Places;

/// All looks.
pub(super) struct Looks {
    pub(super) places: Places,
    pub(super) last: Look,
    /// Of the last look: all but its graph.
    beside: Beside,
    pub(super) about: About,
    sights: Vec<Sight>,
    first_types: Vec<TypeRow>,
    window: Duration,
}

/// Looks as often as asked for.
pub(super) fn take_all(run: &Run<'_>) -> Result<Looks, ProfilerError> {
    let began = Instant::now();
    let mut gathering =
        Gathering { run, places: Places::default(), sights: Vec::new(), first_types: Vec::new() };
    let mut costs = Vec::new();
    let mut notes = Vec::new();
    let since = run.settings.choice("since");
    let mut window = Duration::ZERO;
    let mut left = run.settings.integer("looks").max(2);
    let mut apart = run.duration / u32::try_from(left - 1).unwrap_or(u32::MAX);
    if !since.is_empty() {
        let (earlier, note) = earlier(run, since)?;
        window = earlier.1;
        notes.extend(note);
        gathering.add(earlier.0, None, Duration::ZERO);
        left -= 1;
        apart = run.duration / u32::try_from(left.saturating_sub(1).max(1)).unwrap_or(u32::MAX);
    }
    let mut end = WindowEnd::Completed;
    let before = window;
    let mut first = None;
    // Who ends the run early gets a report, and that takes a last look.
    let unhurried = ToTheEnd(run.control);
    let to_the_end = Run { control: &unhurried, ..*run };
    loop {
        let (taken, said) =
            if gathering.sights.is_empty() { heap::take(run)? } else { heap::take(&to_the_end)? };
        window = before + first.map_or(Duration::ZERO, |first: Instant| first.elapsed());
        first = first.or_else(|| Some(Instant::now()));
        let name = gathering.sights.len().saturating_add(1).to_string();
        if let Some(Err(error)) = run.archive.map(|archive| archive.keep_heap(&name, &taken.graph)) {
            notes.push(format!("the heap could not be kept for later: {error}"));
        }
        costs.push(cost(&taken));
        let pause = taken.pause.map(|pause| pause.total);
        left -= 1;
        let (graph, beside) = Beside::of(taken);
        if left == 0 || end == WindowEnd::Cancelled {
            notes.extend(said);
            let last = gathering.add(graph, pause, window);
            let about = About { cost: together(&costs), notes, measured: began.elapsed(), end };
            return Ok(gathering.finish(last, beside, about, window));
        }
        gathering.add(graph, pause, window);
        if wait(run, apart, gathering.sights.len()) == Stop::Cancelled {
            end = WindowEnd::Cancelled;
        }
    }
}

fn wait(run: &Run<'_>, time: Duration, look: usize) -> Stop {
    /// How often the user sees that time passes.
    const SLICE: Duration = Duration::from_millis(200);
    let began = Instant::now();
    loop {
        let elapsed = began.elapsed();
        if elapsed >= time {
            return Stop::TimeOver;
        }
        run.control.progress(elapsed, time, &format!("waiting for look {}", look + 1));
        if run.control.wait(SLICE.min(time - elapsed)) == Stop::Cancelled {
            return Stop::Cancelled;
        }
    }
}

/// A user who lets a look come to its end.
struct ToTheEnd<'a>(&'a dyn Control);

impl Control for ToTheEnd<'_> {
    fn wait(&self, time: Duration) -> Stop {
        std::thread::sleep(time);
        Stop::TimeOver
    }

    fn progress(&self, elapsed: Duration, total: Duration, note: &str) {
        self.0.progress(elapsed, total, note);
    }
}

/// An earlier heap, how long ago it was taken, and what must be said of it.
type Earlier = ((heap_graph::HeapGraph, Duration), Vec<String>);

fn earlier(run: &Run<'_>, since: &str) -> Result<Earlier, ProfilerError> {
    let none = || NotFound { what: format!("{since}: no earlier heaps can be read here"), next: Vec::new() };
    let found = run.archive.ok_or_else(none).and_then(|archive| archive.earlier_heap(since));
    let found = found.map_err(ProfilerError::Earlier)?;
    let mut notes = Vec::new();
    let ago = found.taken_at.and_then(|at| Duration::try_from(Timestamp::now().duration_since(at)).ok());
    if ago.is_none() {
        notes.push("when the earlier heap was taken is not known, so no growth an hour is told".to_owned());
    }
    if let Some(name) = found.process.filter(|name| *name != run.process.name) {
        notes.push(format!(
            "the earlier heap is of a process called {name}, this one is {}: what differs need not have grown",
            run.process.name
        ));
    }
    Ok(((found.graph, ago.unwrap_or_default()), notes))
}

struct Gathering<'a> {
    run: &'a Run<'a>,
    places: Places,
    sights: Vec<Sight>,
    first_types: Vec<TypeRow>,
}

impl Gathering<'_> {
    /// Puts a heap beside those before it. Its graph is given back for the last one; others are let go.
    fn add(&mut self, graph: heap_graph::HeapGraph, pause: Option<Duration>, at: Duration) -> Look {
        let look = Look::with_paths(graph, ShortestPaths::from_lasting_roots);
        self.places.add(&look.graph, &PathTree::of(&look.graph, &look.paths));
        let Totals { objects, bytes } = look.dominators.reachable();
        let garbage = look.dominators.garbage().bytes;
        self.sights.push(Sight { at, objects, bytes, garbage, pause });
        if self.sights.len() == 1 {
            self.first_types.clone_from(&look.types);
        }
        self.run.control.progress(at, at.max(self.run.duration), "the heap is being looked over");
        look
    }

    fn finish(self, last: Look, beside: Beside, about: About, window: Duration) -> Looks {
        Looks {
            places: self.places,
            last,
            beside,
            about,
            sights: self.sights,
            first_types: self.first_types,
            window,
        }
    }
}

/// A heap without its graph.
struct Beside {
    handles: HashMap<TypeId, u64>,
    way: Way,
    garbage: bool,
    unnamed_types: u64,
}

impl Beside {
    fn of(taken: Taken) -> (HeapGraph, Beside) {
        let Taken { graph, handles, way, garbage, unnamed_types, .. } = taken;
        (graph, Beside { handles, way, garbage, unnamed_types })
    }
}

impl Looks {
    /// The last heap, for others.
    pub(super) fn into_heap(self) -> Taken {
        let Beside { handles, way, garbage, unnamed_types } = self.beside;
        Taken {
            graph: self.last.graph,
            handles,
            way,
            pause: None,
            collections: 0,
            garbage,
            missing: Vec::new(),
            bytes: 0,
            elapsed: Duration::ZERO,
            unnamed_types,
        }
    }

    /// What was seen, with the leaks that were found in it.
    pub(super) fn seen(&self, leaks: Vec<Leak>) -> Seen {
        let growing = growth(&self.first_types, &self.last.types)
            .into_iter()
            .filter(|change| change.objects() > 0 && change.retained() > 0)
            .map(|change| Growing {
                more_objects: u64::try_from(change.objects()).unwrap_or(0),
                more_bytes: u64::try_from(change.bytes()).unwrap_or(0),
                more_retained: u64::try_from(change.retained()).unwrap_or(0),
                objects: change.after.objects,
                retained: change.retained_after,
                name: change.name.into(),
            })
            .collect();
        Seen { window: self.window, sights: self.sights.clone(), growing, leaks }
    }
}

fn cost(taken: &Taken) -> Cost {
    heap::cost(&[taken])
}

/// The costs of all looks as one.
fn together(costs: &[Cost]) -> Cost {
    let sum = |of: fn(&Cost) -> u64| costs.iter().map(of).fold(0, u64::saturating_add);
    Cost {
        method: costs.first().map(|cost| cost.method.clone()).unwrap_or_default()
            + if costs.len() > 1 { ", at each look" } else { "" },
        pauses: Pauses {
            count: sum(|cost| cost.pauses.count),
            total_ns: sum(|cost| cost.pauses.total_ns),
            longest_ns: costs.iter().map(|cost| cost.pauses.longest_ns).max().unwrap_or(0),
        },
        bytes: sum(|cost| cost.bytes),
        events: sum(|cost| cost.events),
        ..Cost::default()
    }
}
