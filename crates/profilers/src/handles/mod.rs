//! `handles`: which handles hold, pin or watch objects, who makes them, and whether they become more.

mod answer;
mod kept_in;
mod population;
#[cfg(test)]
mod tests;
mod watch;

use std::time::Duration;

use diagnostics_ipc::{Level, Provider, TraceRequest};
use gc_memory::{GcMemory, Handle};
use model::{ProcessId, WindowEnd};
use runtime_events::{keyword, provider};

use crate::heap::memory::Outside;
use crate::heap::{self, ALLOW_PAUSE};
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError, events};

use population::Population;
use watch::{Changes, Watch};

/// Finds handles that are never freed, and pins that make holes.
pub struct Handles;

static SPEC: Spec = Spec {
    id: "handles",
    name: "Handles",
    question: "Which handles hold or pin objects, and are they freed?",
    engine: Engine::Heap,
    parameters: &[
        Parameter {
            name: "least",
            kind: Kind::Integer { min: 10, max: 10_000_000, default: 100 },
            help: "how many handles must be left behind while we look to be called a leak",
        },
        Parameter {
            name: "pinned",
            kind: Kind::Integer { min: 10, max: 10_000_000, default: 1000 },
            help: "how many pinned objects are too many",
        },
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 20 },
            help: "how many types and makers to list at most",
        },
        ALLOW_PAUSE,
    ],
    since: "3.1",
    pause: Pause::Heap,
    cost: "two events for each handle, then all of the heap is told once",
    duration: Duration::from_secs(5),
};

/// Room for events in the target.
const BUFFER_MB: u32 = 64;

/// What was seen.
#[derive(Clone, Debug, Default)]
struct Seen {
    population: Population,
    changes: Changes,
    window: Duration,
}

impl Profiler for Handles {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let handles = Provider::new(provider::RUNTIME, keyword::GC_HANDLE, Level::Informational);
        let watched = events::watch(run, &TraceRequest::new(BUFFER_MB, vec![handles]), Watch::default())?;
        if watched.end == WindowEnd::TargetExited {
            return Err(ProfilerError::TargetEnded);
        }
        let changes = Changes::of(&watched);
        let mut about = watched.about();
        let (taken, notes) = heap::take(run)?;
        about.notes.extend(notes);
        let cost = heap::cost(&[&taken]);
        about.cost.method = format!("{}; {}", about.cost.method, cost.method);
        about.cost.pauses = cost.pauses;
        about.cost.bytes += cost.bytes;
        let mut population = Population::see(&taken.graph);
        match tables(run.process.pid) {
            Ok((handles, mut memory)) => {
                population.add(&taken.graph, &taken.handles, &handles, &mut memory);
            }
            Err(why) => about.notes.push(format!(
                "the runtime's tables of handles could not be read ({why}): weak and dependent handles are counted only as \
                 they are made, and which objects contain handles is not known"
            )),
        }
        let seen = Seen { population, changes, window: about.measured };
        Ok(answer::answer(&seen, about, run.settings))
    }
}

/// The handles in the runtime's own tables, read from outside, and the memory that they are in.
fn tables(pid: ProcessId) -> Result<(Vec<Handle>, Outside), String> {
    let memory = Outside::open(pid).ok_or("this user may not read the process's memory")?;
    let mut collector = GcMemory::open(pid).map_err(|error| error.to_string())?;
    Ok((collector.read_roots(&[]).handles().to_vec(), memory))
}
