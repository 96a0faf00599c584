//! `runtime-pauses`: every stop of all threads, whatever for: collections, profilers, debuggers, changed code.

mod answer;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use diagnostics_ipc::{Level, Provider, TraceRequest};
use event_session::Seen;
use facts::PauseCause;
use nettrace::ThreadId;
use runtime_events::gc::SuspendReason;
use runtime_events::{RuntimeEvent, keyword, provider};

use crate::blame::own_place;
use crate::collections::{Collections, GcPause, Style, reason_words};
use crate::events::{self, Stacks, Watched, Watcher};
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::ratio::nanos;
use crate::shortage::{Moment, Shortage};
use crate::{Kind, Parameter, ProfilerError};

/// Shows every stop of the runtime.
pub struct RuntimePauses;

/// Buffer in the target at most, in megabytes; see `gc-pauses`.
const BUFFER_MB: u32 = 32;

static SPEC: Spec = Spec {
    id: "runtime-pauses",
    name: "Runtime pauses",
    question: "How long are all threads stopped, for the GC or others?",
    engine: Engine::EventPipe,
    parameters: &[
        Parameter {
            name: "top",
            kind: Kind::Integer { min: 0, max: 200_000, default: 10 },
            help: "how many of the longest pauses to list",
        },
        Parameter {
            name: "long",
            kind: Kind::Integer { min: 1, max: 60_000, default: 100 },
            help: "milliseconds from which a pause is long",
        },
        Parameter {
            name: "foreign",
            kind: Kind::Integer { min: 1, max: 100, default: 5 },
            help: "per cent of the time from which stops by other tools are too much",
        },
    ],
    since: "3.1",
    pause: Pause::None,
    cost: "about 2 kB of events for each collection, 300 bytes for other stops",
    duration: Duration::from_secs(10),
};

impl Profiler for RuntimePauses {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let runtime = Provider::new(provider::RUNTIME, keyword::GC, Level::Informational);
        let request = TraceRequest::new(BUFFER_MB, vec![runtime]);
        let (before, mut names) = (Moment::of(run), thread_names(run));
        let watched = events::watch(run, &request, Watch::default())?;
        let shortage = before.until(&Moment::of(run));
        names.extend(thread_names(run));
        Ok(answer::answer(&stopped(&watched, &names, shortage), &watched.about(), run.settings))
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

/// Names of the threads, where the runtime's numbers of them are the kernel's.
fn thread_names(run: &Run<'_>) -> HashMap<ThreadId, String> {
    if !run.process.visible || run.process.pid.0 != run.process.pid_inside {
        return HashMap::new();
    }
    let tasks = process_view::Process::new(run.process.pid).tasks().unwrap_or_default();
    tasks.iter().filter_map(|task| Some((ThreadId(task.id.0.into()), task.name().ok()?))).collect()
}

/// One stop of all threads.
#[derive(Clone, Debug, PartialEq)]
struct Stop {
    /// When threads were asked to stop, in nanoseconds from the start.
    begin_ns: u64,
    /// How long it took until all had stopped.
    stopping_ns: u64,
    /// From the first request until all ran again.
    total_ns: u64,
    /// What for.
    why: Why,
    /// Why just then: the collection's reason.
    detail: Option<&'static str>,
    /// The program's method that made it necessary, or the thread that asked for it.
    by: Option<String>,
}

/// What all threads are stopped for, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Why {
    Collection(Option<u32>, Style),
    Profiler,
    Debugger,
    CodeChange,
    Ending,
    Unspecified,
}

impl Why {
    fn of(reason: SuspendReason) -> Why {
        match reason {
            SuspendReason::Profiler => Why::Profiler,
            SuspendReason::Debugger | SuspendReason::DebuggerSweep => Why::Debugger,
            SuspendReason::CodeChange => Why::CodeChange,
            SuspendReason::Shutdown | SuspendReason::AppDomainShutdown => Why::Ending,
            _ => Why::Unspecified,
        }
    }

    fn cause(self) -> PauseCause {
        match self {
            Why::Collection(generation, style) => {
                PauseCause::Collection { generation, blocking: style == Style::Blocking }
            }
            _ => PauseCause::Other,
        }
    }

    fn words(self) -> String {
        let style = |style| match style {
            Style::Blocking => "blocking",
            Style::Background => "background",
        };
        match self {
            Why::Collection(Some(generation), kind) => format!("gen {generation} {} GC", style(kind)),
            Why::Collection(None, kind) => format!("{} GC", style(kind)),
            Why::Profiler => "profiler".to_owned(),
            Why::Debugger => "debugger".to_owned(),
            Why::CodeChange => "changed code".to_owned(),
            Why::Ending => "the process ends".to_owned(),
            Why::Unspecified => "no reason given".to_owned(),
        }
    }
}

/// What came of it, with names.
struct Stopped {
    /// In order of time.
    stops: Vec<Stop>,
    unkept: u64,
    /// Processors that were missing.
    shortage: Shortage,
}

fn stopped(watched: &Watched<Watch>, names: &HashMap<ThreadId, String>, shortage: Shortage) -> Stopped {
    let collections = &watched.watcher.collections;
    let end_ns = nanos(watched.measured);
    let of_collection = |pause: &GcPause| Stop {
        begin_ns: pause.begin_ns,
        stopping_ns: pause.stopping_ns,
        total_ns: pause.total_ns,
        why: Why::Collection(pause.generation, pause.style),
        detail: Some(reason_words(pause.reason)),
        by: pause.trigger.and_then(|stack| own_place(&watched.frames(stack))),
    };
    let mut stops: Vec<Stop> = collections.pauses(end_ns).iter().map(of_collection).collect();
    // The runtime takes a moment to stop sending.
    let others = collections.others.iter().filter(|stop| stop.begin_ns < end_ns);
    stops.extend(others.map(|stop| Stop {
        begin_ns: stop.begin_ns,
        stopping_ns: stop.stopping_ns,
        total_ns: stop.total_ns,
        why: Why::of(stop.reason),
        detail: None,
        by: names.get(&stop.by).map(|name| format!("thread {name}")),
    }));
    stops.sort_by_key(|stop| stop.begin_ns);
    let unkept = collections.unkept + (collections.other_stops - collections.others.len() as u64);
    Stopped { stops, unkept, shortage }
}
