//! `heap-composition`: what the memory of a process is made of, managed and not, and why the heap has holes.
//!
//! ```text
//!  /proc/PID/smaps, several looks ---------------> Native: by use, and whether it grows
//!  events of collections, counters --------------> Managed: generations, holes, committed     --> judge --> Answer
//!  when there are many holes: the heap's objects -> Causes: what is pinned, what lies between
//!                             events with stacks -> Makers: who pins, who allocates large objects
//! ```

mod answer;
mod beside;
mod causes;
mod judge;
mod layout;
mod makers;
mod native;
#[cfg(test)]
mod tests;
mod told;
mod touching;

pub use self::beside::memory_of;

use std::time::Duration;

use event_session::Going;
use heap_collector::Taken;
use model::{Cost, WindowEnd};
use process_view::{Process, ViewError};

use self::causes::Causes;
use self::layout::{Layout, Reader};
use self::makers::{Maker, Makers};
use self::native::Native;
use self::told::{Managed, Watch};
use crate::events;
use crate::heap::{self, ALLOW_PAUSE};
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError, Settings};

/// Shows what the memory of a process is made of.
pub struct HeapComposition;

/// Looks at the process's memory in one run.
const LOOKS: u32 = 6;

static SPEC: Spec = Spec {
    id: "heap-composition",
    name: "Heap composition",
    question: "What is its memory made of, and is it the managed heap?",
    engine: Engine::Heap,
    parameters: &[
        Parameter {
            name: "graph",
            kind: Kind::Choice { options: &["when-needed", "yes", "no"], default: "when-needed" },
            help: "whether to look at the objects: only where holes have to be explained",
        },
        Parameter {
            name: "counters",
            kind: Kind::Choice { options: &["yes", "no"], default: "yes" },
            help: "whether the runtime counts, in case no collection reports its heap meanwhile",
        },
        Parameter {
            name: "holes",
            kind: Kind::Integer { min: 1, max: 1_000_000, default: 50 },
            help: "megabytes of holes in a generation from which they matter",
        },
        Parameter {
            name: "hole-share",
            kind: Kind::Integer { min: 1, max: 100, default: 30 },
            help: "per cent of a generation that is holes, from which they matter",
        },
        Parameter {
            name: "growth",
            kind: Kind::Integer { min: 1, max: 1_000_000, default: 30 },
            help: "megabytes a minute that native memory grows, from which it matters",
        },
        Parameter {
            name: "native",
            kind: Kind::Integer { min: 1, max: 10_000_000, default: 1000 },
            help: "megabytes of native memory, beside a small heap, from which it matters",
        },
        ALLOW_PAUSE,
    ],
    since: "3.1",
    pause: Pause::Heap,
    cost: "no pause, unless holes have to be explained: then one look at the heap",
    duration: Duration::from_secs(10),
};

impl Profiler for HeapComposition {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        Ok(answer::answer(&Composition::of(run)?, run.settings))
    }
}

/// The memory of a process, as it was seen.
#[derive(Debug)]
pub(crate) struct Composition {
    managed: Managed,
    /// What the kernel says, with the time of each look since the first.
    looks: Vec<(Duration, Native)>,
    /// Regions or segments, where they can be read.
    layout: Option<Layout>,
    causes: Option<Causes>,
    makers: Option<Makers>,
    /// Who touches most of the native memory that is new.
    touching: Option<Maker>,
    /// Collections while we listened, and full ones among them.
    collections: (u64, u64),
    /// Collections that were forced for this.
    forced: u32,
    notes: Vec<String>,
    cost: Cost,
    measured: Duration,
    end: WindowEnd,
}

impl Composition {
    /// Looks at a process.
    pub(crate) fn of(run: &Run<'_>) -> Result<Composition, ProfilerError> {
        let mut seen = Composition::listen(run)?;
        let wanted = match run.settings.choice("graph") {
            "yes" => true,
            "no" => false,
            _ => judge::needs_objects(&seen.managed, seen.layout.as_ref(), run.settings),
        };
        if wanted && seen.end == WindowEnd::Completed {
            seen.explain(run);
        }
        if judge::grows(&seen, run.settings) && seen.end == WindowEnd::Completed {
            seen.find_who_touches(run);
        }
        Ok(seen)
    }

    /// Listens to the runtime, and looks at its memory meanwhile.
    fn listen(run: &Run<'_>) -> Result<Composition, ProfilerError> {
        let process = Process::new(run.process.pid);
        let mut looks = Looks::new(run);
        let (request, watch) = Watch::of(run.process, run.settings.choice("counters") == "yes");
        let mut watched = events::watch_until(run, &request, watch, |elapsed| {
            looks.look_if_due(&process, elapsed);
            Going::On
        })?;
        looks.look(&process, watched.measured);
        let mut notes = watched.notes.clone();
        notes.extend(looks.problem);
        Ok(Composition {
            managed: watched.watcher.managed(),
            looks: looks.seen,
            layout: looks.layout,
            causes: None,
            makers: None,
            touching: None,
            collections: (watched.watcher.collections, watched.watcher.full),
            forced: 0,
            notes,
            cost: watched.cost.clone(),
            measured: watched.measured,
            end: watched.end,
        })
    }

    /// Looks who touches new native memory. Without the rights for it there is nobody to blame.
    fn find_who_touches(&mut self, run: &Run<'_>) {
        let view = Process::new(run.process.pid).memory();
        let ranges = self.layout.as_ref().map_or(&[][..], |layout| &layout.ranges);
        let others = view.map(|view| native::beside_native(&view, ranges)).unwrap_or_default();
        match touching::watch(run, others) {
            Ok((found, cost)) => {
                self.touching = found;
                self.cost.method = format!("{}; {}", self.cost.method, cost.method);
                self.cost.bytes += cost.bytes;
                self.cost.events += cost.events;
                self.cost.events_lost += cost.events_lost;
            }
            Err(error) => self.notes.push(format!("who makes native memory grow was not seen: {error}")),
        }
    }

    /// Looks at the objects, and at who makes what is in the way. What fails is a note: the rest stands.
    fn explain(&mut self, run: &Run<'_>) {
        match objects(run) {
            Ok((managed, taken, notes)) => {
                self.causes = Some(Causes::of(&taken.graph));
                self.forced = taken.collections;
                if managed.holes().is_some() {
                    self.managed = managed;
                }
                let cost = heap::cost(&[&taken]);
                self.cost.method = format!("events of the runtime (EventPipe); {}", cost.method);
                self.cost.pauses = cost.pauses;
                self.cost.bytes += cost.bytes;
                self.notes.extend(notes);
            }
            Err(error) => {
                self.notes.push(format!("the objects of the heap could not be looked at: {error}"));
                if matches!(&error, ProfilerError::Heap(heap_collector::Error::PauseNotAllowed { .. })) {
                    self.notes.push("to allow the pause: --allow-pause".to_owned());
                }
            }
        }
        let suspicion = judge::suspicion(self, run.settings);
        if suspicion.any() {
            match Makers::watch(run, suspicion) {
                Ok((makers, cost)) => {
                    self.makers = Some(makers);
                    self.cost.bytes += cost.bytes;
                    self.cost.events += cost.events;
                }
                Err(error) => self.notes.push(format!("who makes it was not seen: {error}")),
            }
        }
    }
}

/// Takes the heap, while the events of the collection that may be needed for it are listened to.
fn objects(run: &Run<'_>) -> Result<(Managed, Taken, Vec<String>), ProfilerError> {
    let (request, watch) = Watch::of(run.process, run.settings.choice("counters") == "yes");
    let mut outcome = None;
    let mut watched = events::watch_until(run, &request, watch, |_| {
        outcome.get_or_insert_with(|| heap::take(run));
        Going::Stop
    })?;
    let (taken, notes) = outcome.ok_or(ProfilerError::TargetEnded)??;
    Ok((watched.watcher.managed(), taken, notes))
}

/// Looks at the kernel's accounts, spread over a time.
struct Looks {
    every: Duration,
    reader: Reader,
    layout: Option<Layout>,
    seen: Vec<(Duration, Native)>,
    problem: Option<String>,
}

impl Looks {
    fn new(run: &Run<'_>) -> Looks {
        let hidden = "its memory is not known: it lives in another pid namespace, which /proc does not show";
        Looks {
            every: run.duration / (LOOKS - 1),
            reader: Reader::open(run.process.pid),
            layout: None,
            seen: Vec::new(),
            problem: (!run.process.visible).then(|| hidden.to_owned()),
        }
    }

    fn look_if_due(&mut self, process: &Process, elapsed: Duration) {
        let due = self.every * u32::try_from(self.seen.len()).unwrap_or(u32::MAX);
        if elapsed >= due && self.seen.len() < LOOKS as usize - 1 {
            self.look(process, elapsed);
        }
    }

    fn look(&mut self, process: &Process, elapsed: Duration) {
        if self.problem.is_some() {
            return;
        }
        if let Some(layout) = self.reader.read() {
            self.layout = Some(layout);
        }
        let ranges = self.layout.as_ref().map_or(&[][..], |layout| &layout.ranges);
        match process.memory() {
            Ok(view) => self.seen.push((elapsed, Native::of(&view, ranges))),
            Err(ViewError::Vanished { .. }) => {}
            Err(error) => {
                self.problem = Some(format!(
                    "its memory beside the heap is not known: {error}; ask as its user, or with sudo"
                ));
            }
        }
    }
}

/// What users call large, in bytes.
fn megabytes(settings: &Settings, name: &str) -> u64 {
    settings.integer(name).saturating_mul(1_000_000)
}
