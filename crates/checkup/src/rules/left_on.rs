//! `left-on`: a debugger, tracer, profiler or recording is attached, perhaps forgotten.
//!
//! For: the kernel names the process that traces it; the environment names the profiler, and its library is mapped; the
//! environment asks for a recording; the runtime has a thread that sends events to somebody. Against: this tool's own looks,
//! which have not begun when the threads are looked at.

use model::{Confidence, Culprit, CulpritKind, Finding, Severity};
use process_view::TaskState;

use super::{Case, Verdict};
use crate::signs::is_on;

/// A tracer that stops it.
const COST_OF_A_STOP: f64 = 100.0;
/// One that watches.
const COST: f64 = 6.0;
/// What is meant to be there costs little.
const COST_OF_MONITORING: f64 = 1.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let mut verdicts = case.adopt("left-on", COST);
    verdicts.extend(traced(case));
    verdicts.extend(profiled(case));
    verdicts.extend(recorded(case));
    verdicts.extend(listened(case));
    verdicts
}

fn traced(case: &Case<'_>) -> Option<Verdict> {
    let (pid, name) = case.signs.surroundings.tracer.as_ref()?;
    let stopped = case.signs.frozen == Some(TaskState::Traced);
    let (severity, title, cost) = match stopped {
        true => (
            Severity::Critical,
            format!("The process stands still in a debugger: {name} ({pid})"),
            COST_OF_A_STOP,
        ),
        false => (Severity::Warning, format!("A debugger or tracer is attached: {name} ({pid})"), COST),
    };
    let finding = Finding::new("left-on", severity, Confidence::High, title)
        .culprit(Culprit::new(CulpritKind::Setting, format!("tracer {name} ({pid})")))
        .evidence("Traced by", format!("{name} ({pid})"))
        .advice("Let it detach. Do not end it: a debugger may end the program that it started, and leaves its breakpoints.")
        .advice(
            "While it is attached, exceptions and new threads cost more, and a breakpoint stops everything.",
        );
    Some(Verdict { finding, cost })
}

/// A profiler of a monitoring product is meant to be there, which is worth knowing and no more.
fn profiled(case: &Case<'_>) -> Option<Verdict> {
    let surroundings = &case.signs.surroundings;
    let profiler = surroundings.profiler.as_ref()?;
    let (title, loaded) = match surroundings.profiler_is_loaded {
        Some(false) => ("A profiler is asked for, but not loaded", Some("no")),
        Some(true) => ("A profiler is loaded at the start of the program", Some("yes")),
        None => ("A profiler is loaded at the start of the program", None),
    };
    let mut finding = Finding::new("left-on", Severity::Info, Confidence::High, title)
        .culprit(Culprit::new(CulpritKind::Setting, "CORECLR_ENABLE_PROFILING"))
        .evidence("CORECLR_PROFILER", profiler);
    if let Some(loaded) = loaded {
        finding = finding.evidence("Its library is loaded", loaded);
    }
    let finding = match surroundings.profiler_is_loaded {
        Some(false) => finding
            .advice("Unset CORECLR_ENABLE_PROFILING, or correct the path: your monitoring may see nothing."),
        _ => finding.advice(
            "Fine if it is your monitoring; if nobody looks at its data, unset CORECLR_ENABLE_PROFILING.",
        ),
    };
    Some(Verdict { finding, cost: COST_OF_MONITORING })
}

/// A recording since the start is for an hour in which somebody looks for something: it fills the disk.
fn recorded(case: &Case<'_>) -> Option<Verdict> {
    let setting = |name: &str| case.signs.surroundings.setting(name);
    setting("enableeventpipe").filter(|value| is_on(value))?;
    let title = "The program records its events into a file since its start";
    let mut finding = Finding::new("left-on", Severity::Warning, Confidence::High, title)
        .culprit(Culprit::new(CulpritKind::Setting, "DOTNET_EnableEventPipe"))
        .evidence("DOTNET_EnableEventPipe", setting("enableeventpipe").unwrap_or_default());
    for (name, shown) in
        [("eventpipeoutputpath", "DOTNET_EventPipeOutputPath"), ("eventpipeconfig", "DOTNET_EventPipeConfig")]
    {
        if let Some(value) = setting(name) {
            finding = finding.evidence(shown, value);
        }
    }
    let finding = finding.advice(
        "Start it without DOTNET_EnableEventPipe: the file grows as long as it runs, and each event costs time.",
    );
    Some(Verdict { finding, cost: COST })
}

/// Somebody else reads its events: monitoring does that all the time.
fn listened(case: &Case<'_>) -> Option<Verdict> {
    let listeners = case.signs.system.as_ref().map_or(0, |system| system.listeners);
    if listeners == 0 {
        return None;
    }
    let title = "Another tool reads the events of this process";
    let finding = Finding::new("left-on", Severity::Info, Confidence::Medium, title)
        .culprit(Culprit::new(CulpritKind::Thread, ".NET EventPipe"))
        .evidence("Threads that send events", listeners.to_string())
        .advice("Fine if it is your monitoring (dotnet-monitor, dotnet-counters); if not, look for a forgotten dotnet-trace.");
    Some(Verdict { finding, cost: COST_OF_MONITORING })
}
