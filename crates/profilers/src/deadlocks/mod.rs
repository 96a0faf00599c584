//! `deadlocks`: threads that wait for each other, or for a lock that nobody will ever give back.
//!
//! ```text
//! agent: stacks and locks of one instant, twice --> locks: who holds what --> lock-graph: rings, queues, what stands still
//!                                                                        --> judge: what is wrong --> answer
//! ```

mod answer;
mod judge;
mod locks;
#[cfg(test)]
mod tests;
mod watch;
mod words;

use std::time::Duration;

use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

/// Finds threads that wait for each other.
pub struct Deadlocks;

static SPEC: Spec = Spec {
    id: "deadlocks",
    name: "Deadlocks",
    question: "Do threads wait for each other, or for ever, and for what?",
    engine: Engine::Agent,
    parameters: &[
        Parameter {
            name: "owners",
            kind: Kind::Choice { options: &["find", "skip"], default: "find" },
            help: "whether to look on the heap which field holds the lock of a deadlock",
        },
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 20 },
            help: "how many stacks, and threads that wait behind others, to show at most",
        },
    ],
    since: "3.1",
    pause: Pause::Questions,
    cost: "all threads stop twice for some milliseconds, once more if there is a deadlock",
    // Between the two looks. A lock that is held for longer than this by who does nothing is worth a look, too.
    duration: Duration::from_secs(3),
};

impl Profiler for Deadlocks {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let (watched, about) = watch::watch(run, SPEC.id)?;
        let verdict = judge::judge(&watched);
        Ok(answer::answer(&watched, &verdict, about, run.settings))
    }
}
