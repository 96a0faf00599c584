//! `timers`: every timer that is set, by what it calls and how often, and whether they pile up.

mod answer;
mod heap;
mod judge;
mod names;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::about::About;
use crate::inside::{self, objects, stubs};
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

use heap::{TimerQueues, Timers as Found};

/// Finds timers that pile up.
pub struct Timers;

static SPEC: Spec = Spec {
    id: "timers",
    name: "Timers",
    question: "Which timers are set, what do they call, do they pile up?",
    engine: Engine::Agent,
    parameters: &[
        Parameter {
            name: "least",
            kind: Kind::Integer { min: 10, max: 10_000_000, default: 1000 },
            help: "how many timers of one callback are too many",
        },
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 20 },
            help: "how many callbacks to list at most",
        },
    ],
    since: "3.1",
    pause: Pause::Questions,
    cost: "all threads stop while the heap is walked, thrice; before 9 it collects twice",
    duration: Duration::from_secs(5),
};

/// What a visit gives.
struct Looked {
    reader: objects::ObjectReader<TimerQueues>,
    before: Found,
    after: Found,
    window: Duration,
    unread: u64,
    ways: HashMap<u64, Vec<u64>>,
}

impl Profiler for Timers {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let visited = inside::visit(run, SPEC.id, |guest| objects::sort(look_twice(guest, run)))?;
        let inside::Visited { value, mut cost, notes, measured, end } = visited;
        let looked = value.map_err(crate::heap::failure)?;
        let names = names::Names::new(run.process, &looked.reader.types, &looked.ways);
        if let Some(code) = &names.code {
            code.charge(&mut cost, "names");
        }
        let seen = judge::Seen {
            groups: names.groups(&looked.before, &looked.after),
            window: looked.window,
            collections: looked.reader.collections,
            moved: looked.reader.moved,
            unread: looked.unread,
            understood: looked.reader.is_understood(),
        };
        let about = About { cost, notes, measured, end };
        Ok(answer::answer(&seen, about, run.settings))
    }
}

fn look_twice(guest: &mut inside::Guest<'_>, run: &Run<'_>) -> Result<Looked, objects::Failed> {
    let mut reader = objects::ObjectReader::open(guest, TimerQueues, false)?;
    let before = reader.read(guest)?;
    let before = before.map_or_else(Found::new, |answer| heap::timers(&reader.types, answer));
    let began = Instant::now();
    guest.wait(run.duration, "waiting for the second look");
    let window = began.elapsed();
    let after = reader.read_anew(guest)?;
    let unread = after.as_ref().map_or(0, |answer| u64::from(answer.left_out));
    let unread = if reader.collections > 0 { reader.unsent } else { unread };
    let after = after.map_or_else(Found::new, |answer| heap::timers(&reader.types, answer));
    let pointers = names::pointers(&reader.types, &[&before, &after]);
    let ways = stubs::follow(guest, pointers)?;
    Ok(Looked { reader, before, after, window, unread, ways })
}
