//! `contention`: which locks threads wait for, how long, where they wait, and who holds them meanwhile.

mod answer;
mod holders;
mod named;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::HashMap;
use std::time::Duration;

use diagnostics_ipc::{Level, Provider, TraceRequest};
use nettrace::ThreadId;
use runtime_events::{keyword, provider};

use crate::events;
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::shortage::Moment;
use crate::{Kind, Parameter, ProfilerError};

/// Shows the locks that threads wait for.
pub struct Contention;

/// Buffer in the target, in megabytes.
const BUFFER_MB: u32 = 32;

static SPEC: Spec = Spec {
    id: "contention",
    name: "Lock contention",
    question: "Which locks do threads wait for, how long, where, and who holds them?",
    engine: Engine::EventPipe,
    parameters: &[
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 1, max: 10_000, default: 10 },
            help: "how many locks to list at most",
        },
        Parameter {
            name: "stacks",
            kind: Kind::Integer { min: 0, max: 1_000, default: 1 },
            help: "how many full stacks of waiters, and of owners, to show at most",
        },
        Parameter {
            name: "owners",
            kind: Kind::Choice { options: &["waits", "samples"], default: "waits" },
            help: "owners from their own waits, or from samples, which stop all threads briefly",
        },
        Parameter {
            name: "waiting",
            kind: Kind::Integer { min: 1, max: 10_000, default: 50 },
            help: "per cent of the window waited for one lock, all threads together, to report",
        },
    ],
    since: "3.1",
    pause: Pause::None,
    cost: "two events for each wait; nothing for a lock that is free",
    duration: Duration::from_secs(10),
};

impl Profiler for Contention {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let sampled = run.settings.choice("owners") == "samples";
        let mut providers = vec![Provider::new(provider::RUNTIME, keyword::CONTENTION, Level::Informational)];
        if sampled {
            providers.push(Provider::new(provider::SAMPLE_PROFILER, 0, Level::Informational));
        }
        let request = TraceRequest::new(BUFFER_MB, providers);
        let before = Moment::of(run);
        let watched = events::watch(run, &request, watch::Watch::new(sampled))?;
        let shortage = before.until(&Moment::of(run));
        let mut about = watched.about();
        if sampled {
            about.cost.method += ", and samples of all threads, each of which stops them for a moment";
        }
        Ok(answer::answer(&named::waited(&watched, &thread_names(run), &shortage), &about, run.settings))
    }
}

/// Names of the threads that live, as the kernel knows them. The runtime tells the numbers that hold inside the
/// process's own namespace, which are the kernel's only if the process is in ours.
fn thread_names(run: &Run<'_>) -> HashMap<ThreadId, String> {
    if !run.process.visible || run.process.pid.0 != run.process.pid_inside {
        return HashMap::new();
    }
    let tasks = process_view::Process::new(run.process.pid).tasks().unwrap_or_default();
    let named = |task: &process_view::Task| Some((ThreadId(task.id.0.into()), task.stat().ok()?.name));
    tasks.iter().filter_map(named).collect()
}
