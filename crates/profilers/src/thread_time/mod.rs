//! `thread-time`: where the threads spend their time, running or waiting.

mod answer;
mod collect;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

/// Shows where the threads spend their time.
pub struct ThreadTime;

static SPEC: Spec = Spec {
    id: "thread-time",
    name: "Thread time",
    question: "Where do the threads spend their time, running or waiting?",
    engine: Engine::EventPipe,
    parameters: &[
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 10 },
            help: "how many methods and threads to list at most",
        },
        Parameter {
            name: "idle",
            kind: Kind::Choice { options: &["hide", "show"], default: "hide" },
            help: "whether the time of threads that only wait for work counts",
        },
        Parameter {
            name: "framework",
            kind: Kind::Choice { options: &["fold", "show"], default: "fold" },
            help: "whether the call tree shows the framework's inner methods",
        },
    ],
    since: "3.1",
    pause: Pause::Samples,
    cost: "all threads stop about every 1.5 ms for 0.05 to 0.3 ms; see its page",
    duration: Duration::from_secs(5),
};

impl Profiler for ThreadTime {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let collected = collect::collect(run)?;
        Ok(answer::answer(&collected, run.settings))
    }
}
