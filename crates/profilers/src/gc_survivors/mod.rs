//! `gc-survivors`: what survives a full collection, as a tree by type from the roots.

mod answer;
mod lines;
#[cfg(test)]
mod tests;

use std::time::Duration;

use heap_collector::Collect;
use heap_reports::Look;
use model::WindowEnd;

use crate::about::About;
use crate::heap::{self, ALLOW_PAUSE};
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

/// Shows what survives a collection, and what it hangs on.
pub struct GcSurvivors;

static SPEC: Spec = Spec {
    id: "gc-survivors",
    name: "GC survivors",
    question: "What survives a full collection, and what does it hang on?",
    engine: Engine::Heap,
    parameters: &[
        Parameter {
            name: "sort",
            kind: Kind::Choice { options: &["retained", "bytes", "count"], default: "retained" },
            help: "by what lines hold, by the bytes or the number of their objects",
        },
        Parameter {
            name: "threshold",
            kind: Kind::Integer { min: 0, max: 1000, default: 5 },
            help: "thousandths of the whole that a line has at least",
        },
        Parameter {
            name: "depth",
            kind: Kind::Integer { min: 1, max: 70, default: 12 },
            help: "how many levels of the tree to show",
        },
        Parameter {
            name: "rows",
            kind: Kind::Integer { min: 2, max: 100_000, default: 30 },
            help: "how many lines of the tree to show",
        },
        Parameter {
            name: "types",
            kind: Kind::Integer { min: 0, max: 100_000, default: 10 },
            help: "how many types to list",
        },
        Parameter {
            name: "collect",
            kind: Kind::Choice { options: &["always", "when-needed"], default: "always" },
            help: "whether a full collection is forced where the heap can be told without",
        },
        ALLOW_PAUSE,
    ],
    since: "3.1",
    pause: Pause::Heap,
    cost: "a forced full collection, unless collect says else, and the pause",
    duration: Duration::from_secs(1),
};

impl Profiler for GcSurvivors {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let collect = match run.settings.choice("collect") {
            "when-needed" => Collect::WhenNeeded,
            _ => Collect::Always,
        };
        let (taken, notes) = heap::take_with(run, collect)?;
        let about =
            About { cost: heap::cost(&[&taken]), notes, measured: taken.elapsed, end: WindowEnd::Completed };
        Ok(answer::answer(&Look::of(taken.graph), about, run.settings))
    }
}
