//! Fixed reports for the tests of what users see.

use std::collections::BTreeMap;

use model::{
    Cost, Frame, FrameKind, HostCost, Pauses, ProcessId, ProfilerInfo, REPORT_SCHEMA, Report, Target,
    Timestamp, Window,
};

use crate::profiler::{Answer, Spec};
use crate::ratio::nanos;

/// A frame without a place in the source.
pub(crate) fn frame(name: &str, module: &str) -> Frame {
    Frame {
        kind: FrameKind::Managed,
        name: name.to_owned(),
        module: Some(module.to_owned()),
        file: None,
        line: None,
    }
}

/// A frame with a place in the source.
pub(crate) fn frame_at(name: &str, module: &str, file: &str, line: u32) -> Frame {
    Frame { file: Some(file.to_owned()), line: Some(line), ..frame(name, module) }
}

/// What an agent that was asked so often has cost.
pub(crate) fn agent_cost(pauses: Pauses, bytes: u64, events: u64) -> Cost {
    let method =
        "an agent inside the process (profiling API), which came within 12 ms and left within 310 ms";
    Cost { method: method.to_owned(), pauses, bytes, events, ..Cost::default() }
}

/// The report of an answer about a program that does not exist.
pub(crate) fn report(spec: &Spec, answer: Answer) -> Report {
    let start: Timestamp = "2026-11-15T05:12:00Z".parse().expect("a timestamp");
    let mut cost = answer.cost;
    cost.host = HostCost { cpu_ns: 12_000_000, peak_memory_bytes: 5_000_000 };
    let mut report = Report {
        schema: REPORT_SCHEMA.to_owned(),
        tool_version: "0.0.0".to_owned(),
        profiler: ProfilerInfo {
            id: spec.id.to_owned(),
            name: spec.name.to_owned(),
            question: spec.question.to_owned(),
            parameters: BTreeMap::new(),
        },
        target: Target {
            pid: ProcessId(4242),
            name: "Shop.Api".into(),
            runtime_version: Some("9.0.7".into()),
            architecture: Some("x64".into()),
            started_at: Some(start),
            command_line: None,
        },
        window: Window {
            started_at: start,
            requested_ns: nanos(answer.measured),
            measured_ns: nanos(answer.measured),
            end: answer.end,
        },
        outcome: None,
        summary: answer.summary,
        findings: answer.findings,
        sections: answer.sections,
        notes: answer.notes,
        cost,
    };
    report.rank_findings();
    report
}

/// Compares the terminal form of a report with its golden file.
pub(crate) fn check(report: &Report) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let golden = format!("{folder}/{}.txt", report.profiler.id);
    golden::check(golden, &reports::terminal::render(report, &reports::TerminalStyle::default()));
}

/// The ids of its findings.
pub(crate) fn ids(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.id.as_str()).collect()
}
