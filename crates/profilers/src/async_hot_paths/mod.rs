//! `async-hot-paths`: processor time by who awaits whom, instead of by the pool's dispatch loop.
//!
//! ```text
//! samples of the agent: stacks, chains of awaits --+
//! processor time of every thread, from the kernel --+--> collect: time by logical stack --> paths: names --> answer
//! ```

mod answer;
mod collect;
mod paths;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::inside;
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::shortage::Moment;
use crate::{Kind, Parameter, ProfilerError};

/// Shows which async methods use the processor, and on whose behalf.
pub struct AsyncHotPaths;

static SPEC: Spec = Spec {
    id: "async-hot-paths",
    name: "Async hot paths",
    question: "Which async calls use the CPU, and on whose behalf?",
    engine: Engine::Agent,
    parameters: &[
        Parameter {
            name: "rate",
            kind: Kind::Integer { min: 1, max: 100, default: 40 },
            help: "how often a second to look at most",
        },
        Parameter {
            name: "budget",
            kind: Kind::Integer { min: 1, max: 100, default: 10 },
            help: "tenths of a per cent of the time that the process may be stopped",
        },
        Parameter {
            name: "waits",
            kind: Kind::Choice { options: &["yes", "no"], default: "yes" },
            help: "whether to count methods that wait; the heap is walked for it, up to 10 times",
        },
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 15 },
            help: "how many rows a table has at most",
        },
        Parameter {
            name: "least",
            kind: Kind::Integer { min: 0, max: 100, default: 1 },
            help: "per cent of the time that a branch of the tree has at least",
        },
    ],
    since: "3.1",
    pause: Pause::Samples,
    cost: "all threads stop 40 times a second for some 100 us, at most 1 % of the time",
    duration: Duration::from_secs(10),
};

impl Profiler for AsyncHotPaths {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let before = Moment::of(run);
        let visited = inside::visit(run, SPEC.id, |guest| collect::collect(guest, run))?;
        let inside::Visited { value, cost, notes, measured, end } = visited;
        let shortage = before.until(&Moment::of(run));
        let paths = paths::paths(&value, run.process);
        let about = answer::About { cost, notes, measured, end, shortage };
        Ok(answer::answer(&paths, about, run.settings))
    }
}
