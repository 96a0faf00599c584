//! `merged-stacks`: the stacks of all threads at this moment, merged.

mod answer;
#[cfg(test)]
mod tests;
mod tree;

use std::time::Duration;

use crate::about::About;
use crate::inside::{self, Namer, Native, monitor_waits};
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

/// Shows what all threads do now.
pub struct MergedStacks;

static SPEC: Spec = Spec {
    id: "merged-stacks",
    name: "Merged stacks",
    question: "What is every thread doing right now, and why does it wait?",
    engine: Engine::Agent,
    parameters: &[
        Parameter {
            name: "idle",
            kind: Kind::Choice { options: &["hide", "show"], default: "hide" },
            help: "whether threads that only wait for work, and native ones, are shown",
        },
        Parameter {
            name: "framework",
            kind: Kind::Choice { options: &["fold", "show"], default: "fold" },
            help: "whether the tree shows the framework's inner methods",
        },
        Parameter {
            name: "threads",
            kind: Kind::Choice { options: &["hide", "show"], default: "hide" },
            help: "whether every thread is listed too",
        },
        Parameter {
            name: "native",
            kind: Kind::Choice { options: &["hide", "show"], default: "hide" },
            help: "whether stacks in full show native and kernel frames of threads that wait",
        },
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 10 },
            help: "how many different stacks to print in full at most",
        },
    ],
    since: "3.1",
    pause: Pause::Questions,
    cost: "all threads stop 1 to 3 times for milliseconds; an agent stays half a second",
    // One moment needs no time; this is what is waited at most for the user's sake.
    duration: Duration::from_secs(1),
};

impl Profiler for MergedStacks {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let native = if run.settings.choice("native") == "show" { Native::Show } else { Native::Hide };
        let visited = inside::visit(run, SPEC.id, |guest| monitor_waits::take(guest, native))?;
        let inside::Visited { value: (value, waits), mut cost, notes, measured, end } = visited;
        let mut namer = Namer::of(run, [value.stacks()]);
        namer.charge(&mut cost);
        let mut sight = value.named(&mut namer);
        waits.tell(&mut sight);
        let about = About { cost, notes, measured, end };
        Ok(answer::answer(&sight, about, run.settings))
    }
}
