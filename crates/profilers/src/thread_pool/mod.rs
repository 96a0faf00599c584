//! `thread-pool`: whether work waits for pool threads, and what blocks them.

mod answer;
mod collect;
mod look;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

/// Shows how the thread pool does.
pub struct ThreadPool;

static SPEC: Spec = Spec {
    id: "thread-pool",
    name: "Thread pool",
    question: "Does work wait for pool threads, and which code blocks them?",
    engine: Engine::EventPipe,
    parameters: &[
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 10 },
            help: "how many methods to list at most",
        },
        Parameter {
            name: "looks",
            kind: Kind::Integer { min: 0, max: 100, default: 3 },
            help: "how many times to look at the stacks",
        },
        Parameter {
            name: "look-ms",
            kind: Kind::Integer { min: 10, max: 1000, default: 150 },
            help: "how long each look lasts, in milliseconds",
        },
    ],
    since: "3.1",
    pause: Pause::Samples,
    cost: "events of the pool; stacks are sampled 3 times for 0.15 s, see its page",
    duration: Duration::from_secs(6),
};

impl Profiler for ThreadPool {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let collected = collect::collect(run)?;
        Ok(answer::answer(&collected, run.settings))
    }
}
