//! `stuck-tasks`: every pending `async` operation, from its root to what it waits for in the end.

mod answer;
mod heap;
mod judge;
mod names;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use crate::about::About;
use crate::inside::{self, objects};
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

/// Finds operations that wait for something that does not come.
pub struct StuckTasks;

static SPEC: Spec = Spec {
    id: "stuck-tasks",
    name: "Stuck tasks",
    question: "What do pending async operations wait for, and do they move?",
    engine: Engine::Agent,
    parameters: &[
        Parameter {
            name: "least",
            kind: Kind::Integer { min: 2, max: 100_000, default: 10 },
            help: "how many operations must wait in one place, unmoved, to be called stuck",
        },
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 20 },
            help: "how many chains of awaits to list at most",
        },
        Parameter {
            name: "dead",
            kind: Kind::Choice { options: &["show", "sweep"], default: "show" },
            help: "whether operations that nothing refers to any more are collected first",
        },
    ],
    since: "3.1",
    pause: Pause::Questions,
    cost: "all threads stop while the heap is walked, thrice; before 9 it collects first",
    duration: Duration::from_secs(5),
};

impl Profiler for StuckTasks {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let visited = inside::visit(run, SPEC.id, |guest| objects::sort(look_twice(guest, run)))?;
        let inside::Visited { value, cost, notes, measured, end } = visited;
        let (heap, before, after, window) = value.map_err(crate::heap::failure)?;
        let mut named = names::Names::new(run.process, &heap.types);
        let seen = judge::Seen::of(&heap, before, after, &mut named, window);
        let about = About { cost, notes, measured, end };
        Ok(answer::answer(&seen, about, run.settings))
    }
}

fn look_twice(
    guest: &mut inside::Guest<'_>,
    run: &Run<'_>,
) -> Result<(heap::Heap, heap::Taken, heap::Taken, Duration), objects::Failed> {
    let mut heap = heap::Heap::open(guest, heap::Awaits, run.settings.choice("dead") == "sweep")?;
    let before = heap::look(&mut heap, guest)?;
    let began = Instant::now();
    guest.wait(run.duration, "waiting for the second look");
    let window = began.elapsed();
    let after = heap::look(&mut heap, guest)?;
    Ok((heap, before, after, window))
}
