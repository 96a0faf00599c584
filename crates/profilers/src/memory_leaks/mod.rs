//! `memory-leaks`: what grows on the heap, who holds it, and what to change.
//!
//! ```text
//!  take, wait, take --> PathTree of each --> Places --> sites --> Judge --> Leak --> answer
//!                          (looks.rs)       (places.rs) (sites.rs) (leaks.rs)       (answer.rs)
//! ```

mod advice;
mod answer;
mod leaks;
mod looks;
mod metadata;
mod places;
mod sites;
#[cfg(test)]
mod tests;
mod types;

use std::time::Duration;

use heap_collector::ProcessFiles;
use process_view::Process;

use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError, heap};

use self::leaks::Judge;
use self::metadata::Metadata;
use self::sites::Limits;

/// Finds what grows.
pub struct MemoryLeaks;

static SPEC: Spec = Spec {
    id: "memory-leaks",
    name: "Memory leaks",
    question: "What grows on the heap, who holds it, and what to change?",
    engine: Engine::Heap,
    parameters: &[
        Parameter {
            name: "looks",
            kind: Kind::Integer { min: 2, max: 100, default: 2 },
            help: "how often the heap is looked at, over the whole time; three or more are surer",
        },
        Parameter {
            name: "since",
            kind: Kind::Text { what: "a session, or a .gcdump file" },
            help: "an earlier heap that stands for the first look, from a session or a file",
        },
        Parameter {
            name: "least",
            kind: Kind::Integer { min: 1, max: 1_000_000_000, default: 250 },
            help: "kilobytes by which a place must grow between the first look and the last",
        },
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 15 },
            help: "how many types to list at most",
        },
        heap::ALLOW_PAUSE,
    ],
    since: "3.1",
    pause: Pause::Heap,
    cost: "all threads stop while the heap is told, at every look; often it collects first",
    duration: Duration::from_secs(10),
};

/// Objects that a place must have more; fewer are chance.
const LEAST_OBJECTS: u64 = 20;
/// Bytes from which a few large objects will do.
const LARGE: u64 = 4_000_000;
/// Growth below this part of the heap is noise on a large one.
const LEAST_PART: u64 = 500;

impl Profiler for MemoryLeaks {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let taken = looks::take_all(run)?;
        let files = ProcessFiles::of(Process::new(run.process.pid));
        let limits = Limits {
            bytes: (run.settings.integer("least") * 1000).max(taken.last.live_bytes() / LEAST_PART),
            objects: LEAST_OBJECTS,
            large: LARGE,
        };
        let mut judge = Judge { places: &taken.places, last: &taken.last, metadata: Metadata::new(&files) };
        let found = judge.all(&limits);
        let answer = answer::answer(&taken.seen(found), taken.about.clone(), run.settings);
        if let Some(sharing) = run.sharing {
            sharing.hand_on_heap(taken.into_heap());
        }
        Ok(answer)
    }
}
