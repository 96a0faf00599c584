//! `exceptions`: which exceptions are thrown, where, how often, and who catches them.

mod answer;
#[cfg(test)]
mod tests;
mod watch;

use std::time::Duration;

use diagnostics_ipc::{Level, Provider, TraceRequest};
use runtime_events::{keyword, provider};

use crate::events;
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::{Kind, Parameter, ProfilerError};

/// Shows the exceptions that are thrown.
pub struct Exceptions;

/// Buffer in the target, in megabytes: a second of the worst storms seen.
const BUFFER_MB: u32 = 32;

static SPEC: Spec = Spec {
    id: "exceptions",
    name: "Exceptions",
    question: "Which exceptions are thrown, where, how often, and who catches them?",
    engine: Engine::EventPipe,
    parameters: &[
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 15 },
            help: "how many rows a table has at most",
        },
        Parameter {
            name: "stacks",
            kind: Kind::Integer { min: 0, max: 1_000, default: 2 },
            help: "how many full stacks to show at most",
        },
        Parameter {
            name: "storm",
            kind: Kind::Integer { min: 1, max: 1_000_000, default: 100 },
            help: "exceptions a second from which it is a storm",
        },
    ],
    since: "3.1",
    pause: Pause::None,
    cost: "some microseconds for each exception that is thrown; nothing else",
    duration: Duration::from_secs(10),
};

impl Profiler for Exceptions {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let runtime = Provider::new(provider::RUNTIME, keyword::EXCEPTION, Level::Informational);
        let request = TraceRequest::new(BUFFER_MB, vec![runtime]);
        let watched = events::watch(run, &request, watch::Watch::default())?;
        Ok(answer::answer(&watch::thrown(&watched), &watched.about(), run.settings))
    }
}
