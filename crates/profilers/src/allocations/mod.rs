//! `allocations`: which types are allocated, by whom, how many bytes a second, and whether that costs anything.

mod answer;
#[cfg(test)]
mod tests;
mod watch;

use std::time::Duration;

use diagnostics_ipc::{Level, Provider, TraceRequest};
use runtime_events::{keyword, provider};

use crate::events;
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::shortage::Moment;
use crate::{Kind, Parameter, ProfilerError};

/// Shows what is allocated.
pub struct Allocations;

/// Buffer in the target, in megabytes: some seconds of the fastest allocation seen.
const BUFFER_MB: u32 = 32;
/// The first version that picks allocations at random.
const SAMPLING_SINCE: u32 = 10;

static SPEC: Spec = Spec {
    id: "allocations",
    name: "Allocations",
    question: "Which types are allocated, by whom, how fast, and what does it cost?",
    engine: Engine::EventPipe,
    parameters: &[
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 10 },
            help: "how many rows a table has at most",
        },
        Parameter {
            name: "stacks",
            kind: Kind::Integer { min: 0, max: 1_000, default: 2 },
            help: "how many full stacks to show at most",
        },
        Parameter {
            name: "gc-share",
            kind: Kind::Integer { min: 1, max: 100, default: 10 },
            help: "per cent of the time in pauses from which allocation costs too much",
        },
    ],
    since: "3.1",
    pause: Pause::None,
    cost: "one event with a stack for every 100 kB that the program allocates",
    duration: Duration::from_secs(10),
};

impl Profiler for Allocations {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let version = run.process.runtime_version.as_deref();
        let major: Option<u32> = version.and_then(|version| version.split('.').next()?.parse().ok());
        let runtime = match major {
            Some(SAMPLING_SINCE..) => {
                let keywords = keyword::GC | keyword::ALLOCATION_SAMPLING;
                Provider::new(provider::RUNTIME, keywords, Level::Informational)
            }
            // A runtime that does not say how old it is gets both, and takes what it knows.
            None => {
                let keywords = keyword::GC | keyword::ALLOCATION_SAMPLING;
                Provider::new(provider::RUNTIME, keywords, Level::Verbose)
            }
            Some(_) => Provider::new(provider::RUNTIME, keyword::GC, Level::Verbose),
        };
        let request = TraceRequest::new(BUFFER_MB, vec![runtime]);
        let before = Moment::of(run);
        let watched = events::watch(run, &request, watch::Watch::default())?;
        let mut about = watched.about();
        about.notes.extend(before.until(&Moment::of(run)).note());
        Ok(answer::answer(&watch::allocated(&watched), &about, run.settings))
    }
}
