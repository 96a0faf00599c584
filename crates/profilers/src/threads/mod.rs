//! `threads`: what every thread of the process is doing, and how much processor time it takes.

mod answer;
#[cfg(test)]
mod tests;
mod watch;

use std::time::Duration;

pub(crate) use answer::kind_of_work;

use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

/// Shows every thread of the process.
pub struct Threads;

static SPEC: Spec = Spec {
    id: "threads",
    name: "Threads",
    question: "Which threads are there, what are they doing, and who uses the CPU?",
    engine: Engine::Proc,
    parameters: &[
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 100_000, default: 40 },
            help: "how many threads to list at most",
        },
        Parameter {
            name: "sort",
            kind: Kind::Choice { options: &["cpu", "name", "start", "tid"], default: "cpu" },
            help: "which threads come first",
        },
        Parameter {
            name: "busy",
            kind: Kind::Integer { min: 1, max: 100, default: 90 },
            help: "CPU use in per cent from which a thread counts as busy",
        },
    ],
    since: "3.1",
    pause: Pause::None,
    cost: "a few microseconds of kernel time per thread and look, outside the process",
    duration: Duration::from_secs(5),
};

impl Profiler for Threads {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        if !run.process.visible {
            return Err(ProfilerError::NotVisible { profiler: SPEC.id });
        }
        let watched = watch::watch(run)?;
        Ok(answer::answer(&watched, run.settings))
    }
}
