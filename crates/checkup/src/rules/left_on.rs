//! `left-on`: a debugger, tracer or profiler is attached, perhaps forgotten.
//!
//! For: the kernel names the process that traces it; the environment names the profiler; the runtime counts stops for tools.
//! Against: this tool's own looks, which have ended by then.

use model::{Confidence, Culprit, CulpritKind, Finding, Severity};
use process_view::TaskState;

use super::{Case, Verdict};

/// A tracer that stops it.
const COST_OF_A_STOP: f64 = 100.0;
/// One that watches.
const COST: f64 = 6.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let mut verdicts = case.adopt("left-on", COST);
    verdicts.extend(traced(case));
    verdicts.extend(profiled(case));
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
        .advice("Let it detach. While it is attached, exceptions and new threads cost more, and a breakpoint stops everything.");
    Some(Verdict { finding, cost })
}

/// A profiler of a monitoring product is meant to be there, which is worth knowing and no more.
fn profiled(case: &Case<'_>) -> Option<Verdict> {
    let profiler = case.signs.surroundings.profiler.as_ref()?;
    let finding = Finding::new(
        "left-on",
        Severity::Info,
        Confidence::High,
        "A profiler is loaded at the start of the program",
    )
    .culprit(Culprit::new(CulpritKind::Setting, "CORECLR_ENABLE_PROFILING"))
    .evidence("CORECLR_PROFILER", profiler)
    .advice("Fine if it is your monitoring; if nobody looks at its data, unset CORECLR_ENABLE_PROFILING.");
    Some(Verdict { finding, cost: 1.0 })
}
