//! `zombie-threads`: threads that do nothing, and whether they become more.

mod answer;
mod judge;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::about::About;
use crate::inside::{self, Namer, Native, Unnamed, monitor_waits};
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

/// Finds threads that do nothing and never will.
pub struct ZombieThreads;

static SPEC: Spec = Spec {
    id: "zombie-threads",
    name: "Zombie threads",
    question: "Which threads do nothing any more, and do they become more?",
    engine: Engine::Agent,
    parameters: &[
        Parameter {
            name: "least",
            kind: Kind::Integer { min: 2, max: 100_000, default: 10 },
            help: "how many threads must be stuck in one place to be called a leak",
        },
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 15 },
            help: "how many places to list at most",
        },
    ],
    since: "3.1",
    pause: Pause::Questions,
    cost: "all threads stop 2 to 4 times for milliseconds; an agent stays for the window",
    duration: Duration::from_secs(10),
};

impl Profiler for ZombieThreads {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let visited = inside::visit(run, SPEC.id, |guest| {
            let before = Unnamed::take(guest, Native::Hide)?;
            // The target may end meanwhile; the second question then says so.
            guest.wait(run.duration, "waiting for the second look");
            let (after, waits) = monitor_waits::take(guest, Native::Hide)?;
            Ok((before, after, waits, judge::Ticks::now()))
        })?;
        let inside::Visited { value: (before, after, waits, clock), mut cost, notes, measured, end } =
            visited;
        let same = before.unmoved(&after);
        let window = after.at.duration_since(before.at);
        let mut namer = Namer::of(run, [before.stacks(), after.stacks()]);
        namer.charge(&mut cost);
        let (before, mut after) = (before.named(&mut namer), after.named(&mut namer));
        waits.tell(&mut after);
        let looks = judge::Looks { before, after, same, main: main_thread(run), window, clock };
        let about = About { cost, notes, measured, end };
        Ok(answer::answer(&looks, about, run.settings))
    }
}

/// The number of the first thread, as the target knows it.
fn main_thread(run: &Run<'_>) -> u32 {
    let status = process_view::Process::new(run.process.pid).status();
    status.ok().and_then(|status| status.ids.innermost()).unwrap_or(run.process.pid.0)
}
