//! `gc-pauses`: how long the garbage collector stops the program, why, and who makes it necessary.

mod answer;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use diagnostics_ipc::{Level, Provider, TraceRequest};
use event_session::Seen;
use model::Frame;
use runtime_events::{RuntimeEvent, keyword, provider};
use stacks::StackKey;

use crate::collections::{Collections, GcPause};
use crate::events::{self, Stacks, Watched, Watcher};
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::ratio::nanos;
use crate::shortage::{Moment, Shortage};
use crate::{Kind, Parameter, ProfilerError};

/// Shows the pauses of the garbage collector.
pub struct GcPauses;

/// Buffer in the target, in megabytes: a collection tells about 2 kB.
const BUFFER_MB: u32 = 8;

static SPEC: Spec = Spec {
    id: "gc-pauses",
    name: "GC pauses",
    question: "How long does garbage collection stop the program, and what triggers it?",
    engine: Engine::EventPipe,
    parameters: &[
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 0, max: 200_000, default: 8 },
            help: "how many of the longest pauses to list",
        },
        Parameter {
            name: "stacks",
            kind: Kind::Integer { min: 0, max: 1_000, default: 1 },
            help: "how many full stacks to show at most",
        },
        Parameter {
            name: "long",
            kind: Kind::Integer { min: 1, max: 60_000, default: 100 },
            help: "milliseconds from which a pause is long",
        },
    ],
    since: "3.1",
    pause: Pause::None,
    cost: "about 2 kB of events for each collection; nothing in between",
    duration: Duration::from_secs(10),
};

impl Profiler for GcPauses {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let runtime = Provider::new(provider::RUNTIME, keyword::GC, Level::Informational);
        let request = TraceRequest::new(BUFFER_MB, vec![runtime]);
        let before = Moment::of(run);
        let watched = events::watch(run, &request, Watch::default())?;
        let shortage = before.until(&Moment::of(run));
        Ok(answer::answer(&paused(&watched, shortage), &watched.about(), run.settings))
    }
}

#[derive(Default)]
struct Watch {
    collections: Collections,
}

impl Watcher for Watch {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, stacks: &mut Stacks) {
        self.collections.event(seen, event, stacks);
    }
}

/// What came of it, with names.
struct Paused {
    /// In order of time.
    pauses: Vec<GcPause>,
    /// Of those who triggered them.
    stacks: HashMap<StackKey, Vec<Frame>>,
    other_stops: u64,
    unkept: u64,
    /// Processors that were missing.
    shortage: Shortage,
}

fn paused(watched: &Watched<Watch>, shortage: Shortage) -> Paused {
    let collections = &watched.watcher.collections;
    let pauses = collections.pauses(nanos(watched.measured));
    let mut stacks = HashMap::new();
    for stack in pauses.iter().filter_map(|pause| pause.trigger) {
        stacks.entry(stack).or_insert_with(|| watched.frames(stack));
    }
    Paused { pauses, stacks, other_stops: collections.other_stops, unkept: collections.unkept, shortage }
}
