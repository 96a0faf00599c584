//! From a profiler's answer to a report.

use std::time::Duration;

use discovery::DotnetProcess;
use facts::LookFacts;
use model::{HostCost, ProfilerInfo, REPORT_SCHEMA, Report, Timestamp, Window};

use crate::profiler::{Answer, Profiler, Run, Spec};
use crate::ratio::nanos;
use crate::{ProfilerError, Settings, by_id};

/// What came of a question.
#[derive(Clone, Debug)]
pub struct Answered {
    /// For people, and to be kept.
    pub report: Report,
    /// For whoever judges it together with other answers.
    pub facts: LookFacts,
}

/// Runs a profiler and makes the report.
pub fn run(profiler: &dyn Profiler, run: &Run<'_>) -> Result<Report, ProfilerError> {
    debug_assert!(by_id(profiler.spec().id).is_ok(), "a profiler that is not in the registry");
    ask(profiler, run).map(|answered| answered.report)
}

/// The same with what was seen beside the findings; also for one that is not in the registry, because it is part of something
/// larger.
pub fn ask(profiler: &dyn Profiler, run: &Run<'_>) -> Result<Answered, ProfilerError> {
    let spec = profiler.spec();
    if let Some(found) = &run.process.runtime_version
        && is_older(found, spec.since)
    {
        return Err(ProfilerError::RuntimeTooOld {
            profiler: spec.id,
            needed: spec.since,
            found: found.clone(),
        });
    }
    let started_at = Timestamp::now();
    let mut answer = profiler.run(run)?;
    let facts = std::mem::take(&mut answer.facts);
    let asked = Asked { started_at, requested: run.duration };
    Ok(Answered { report: report(spec, run.process, run.settings, asked, answer), facts })
}

/// What window was asked for.
pub(crate) struct Asked {
    pub(crate) started_at: Timestamp,
    pub(crate) requested: Duration,
}

/// The report of an answer.
pub(crate) fn report(
    spec: &Spec,
    process: &DotnetProcess,
    settings: &Settings,
    asked: Asked,
    answer: Answer,
) -> Report {
    let mut report = Report {
        schema: REPORT_SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        profiler: ProfilerInfo {
            id: spec.id.to_owned(),
            name: spec.name.to_owned(),
            question: spec.question.to_owned(),
            parameters: settings.all(),
        },
        target: process.target(),
        window: Window {
            started_at: asked.started_at,
            requested_ns: nanos(asked.requested),
            measured_ns: nanos(answer.measured),
            end: answer.end,
        },
        outcome: None,
        summary: answer.summary,
        findings: answer.findings,
        sections: answer.sections,
        notes: answer.notes,
        cost: answer.cost,
    };
    report.cost.host = host_cost();
    report.rank_findings();
    report
}

/// `3.1` against `9.0.7`: by numbers, not by letters.
fn is_older(found: &str, needed: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        text.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
    };
    let (found, needed) = (numbers(found), numbers(needed));
    !found.is_empty() && found < needed
}

/// What this tool used so far.
fn host_cost() -> HostCost {
    HostCost {
        cpu_ns: nanos(process_view::own_cpu_time()),
        peak_memory_bytes: process_view::Process::this().peak_memory().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert!(is_older("3.1.23", "9"));
        assert!(!is_older("10.0.9", "9"));
        assert!(!is_older("9.0.7", "9.0"));
        assert!(!is_older("unknown", "9"));
    }
}
