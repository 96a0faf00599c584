//! `handles`: which handles hold, pin or watch objects, who makes them, and whether they become more.

mod answer;
mod population;
#[cfg(test)]
mod tests;
mod watch;

use std::time::Duration;

use diagnostics_ipc::{Level, Provider, TraceRequest};
use model::WindowEnd;
use runtime_events::{keyword, provider};

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
        let seen = Seen { population: Population::see(&taken.graph), changes, window: about.measured };
        Ok(answer::answer(&seen, about, run.settings))
    }
}
