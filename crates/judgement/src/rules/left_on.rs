//! `left-on`: a debugger, tracer, profiler or recording is attached, perhaps forgotten.
//!
//! For: the kernel names the process that traces it; the environment names the profiler, and its library is mapped; the
//! environment asks for a recording; the runtime has a thread that sends events to somebody. Against: this tool's own looks,
//! which have not begun when the threads are looked at.

use facts::{Confidence, Culprit, CulpritKind, Severity, Sign};

use crate::signs::{Frozen, is_on};
use crate::{Case, Verdict};

/// A tracer that stops it.
const COST_OF_A_STOP: f64 = 100.0;
/// One that watches.
const COST: f64 = 6.0;
/// What is meant to be there costs little.
const COST_OF_MONITORING: f64 = 1.0;
/// Settings that ask for a recording, and how they stand in the environment.
const RECORDING: &[(&str, &str)] = &[
    ("enableeventpipe", "DOTNET_EnableEventPipe"),
    ("eventpipeoutputpath", "DOTNET_EventPipeOutputPath"),
    ("eventpipeconfig", "DOTNET_EventPipeConfig"),
];

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let mut verdicts = case.adopt("left-on", COST);
    verdicts.extend(traced(case));
    verdicts.extend(profiled(case));
    verdicts.extend(recorded(case));
    verdicts.extend(listened(case));
    verdicts
}

fn traced(case: &Case) -> Option<Verdict> {
    let (pid, name) = case.signs.surroundings.tracer.clone()?;
    let stopped = case.signs.frozen == Some(Frozen::Traced);
    let (severity, cost) =
        if stopped { (Severity::Critical, COST_OF_A_STOP) } else { (Severity::Warning, COST) };
    let culprit = Culprit::new(CulpritKind::Setting, format!("tracer {name} ({pid})"));
    let sign = Sign::Traced { pid, name, stopped };
    Some(Verdict::of_sign("left-on", (severity, Confidence::High), sign, cost).culprit(culprit))
}

/// A profiler of a monitoring product is meant to be there, which is worth knowing and no more.
fn profiled(case: &Case) -> Option<Verdict> {
    let surroundings = &case.signs.surroundings;
    let profiler = surroundings.profiler.clone()?;
    let sign = Sign::ProfilerAsked { profiler, loaded: surroundings.profiler_is_loaded };
    let verdict = Verdict::of_sign("left-on", (Severity::Info, Confidence::High), sign, COST_OF_MONITORING);
    Some(verdict.culprit(Culprit::new(CulpritKind::Setting, "CORECLR_ENABLE_PROFILING")))
}

/// A recording since the start is for an hour in which somebody looks for something: it fills the disk.
fn recorded(case: &Case) -> Option<Verdict> {
    let setting = |name: &str| case.signs.surroundings.setting(name);
    let (enable, enable_shown) = RECORDING.first()?;
    setting(enable).filter(|value| is_on(value))?;
    let asked =
        RECORDING.iter().filter_map(|(name, shown)| Some(((*shown).to_owned(), setting(name)?.to_owned())));
    let sign = Sign::RecordsItself { settings: asked.collect() };
    let verdict = Verdict::of_sign("left-on", (Severity::Warning, Confidence::High), sign, COST);
    Some(verdict.culprit(Culprit::new(CulpritKind::Setting, *enable_shown)))
}

/// Somebody else reads its events: monitoring does that all the time.
fn listened(case: &Case) -> Option<Verdict> {
    let threads = case.signs.system.as_ref().map_or(0, |system| system.listeners);
    if threads == 0 {
        return None;
    }
    let sign = Sign::OtherListeners { threads };
    let verdict = Verdict::of_sign("left-on", (Severity::Info, Confidence::Medium), sign, COST_OF_MONITORING);
    Some(verdict.culprit(Culprit::new(CulpritKind::Thread, ".NET EventPipe")))
}
