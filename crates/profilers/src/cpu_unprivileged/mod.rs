//! `cpu-unprivileged`: which methods use the processor, with no more rights than the target's own user.

mod answer;
mod clocks;
mod collect;
#[cfg(test)]
mod tests;
mod weigh;

use std::time::Duration;

use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

/// Shows which methods use the processor.
pub struct CpuUnprivileged;

static SPEC: Spec = Spec {
    id: "cpu-unprivileged",
    name: "CPU, unprivileged",
    question: "Which methods use the CPU, asked with the rights of the process's own user?",
    engine: Engine::EventPipe,
    parameters: &[
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 10 },
            help: "how many methods to list at most",
        },
        Parameter {
            name: "hot",
            kind: Kind::Integer { min: 1, max: 100, default: 70 },
            help: "share of the CPU in per cent from which a method counts as hot",
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

impl Profiler for CpuUnprivileged {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let collected = collect::collect(run)?;
        Ok(answer::answer(&collected, run.settings))
    }
}
