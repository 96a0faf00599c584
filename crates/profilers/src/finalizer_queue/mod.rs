//! `finalizer-queue`: which dead objects wait for their finalizer, and whether the thread that runs finalizers gets on.

mod answer;
mod look;
mod tables;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::heap::ALLOW_PAUSE;
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

/// Finds finalizers that do not run.
pub struct FinalizerQueue;

static SPEC: Spec = Spec {
    id: "finalizer-queue",
    name: "Finalizer queue",
    question: "Which objects wait for their finalizer, and does it run?",
    engine: Engine::Agent,
    parameters: &[
        Parameter {
            name: "least",
            kind: Kind::Integer { min: 10, max: 100_000_000, default: 1000 },
            help: "how many objects must wait while finalizers run for them to have fallen behind",
        },
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 20 },
            help: "how many types to list at most",
        },
        Parameter {
            name: "kept",
            kind: Kind::Choice { options: &["no", "yes"], default: "no" },
            help: "whether what they keep alive is told, for which all of the heap is taken twice",
        },
        ALLOW_PAUSE,
    ],
    since: "3.1",
    pause: Pause::Questions,
    cost: "the stacks of all threads, twice; the queue is read from outside",
    duration: Duration::from_secs(5),
};

impl Profiler for FinalizerQueue {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let (seen, spent) = look::twice(run)?;
        Ok(answer::answer(&seen, spent, run.settings))
    }
}
