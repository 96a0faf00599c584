//! The report as users see it, from fixed observations.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{
    HostCost, ProcessId, ProfilerInfo, REPORT_SCHEMA, Report, Severity, Target, ThreadId, Timestamp, Window,
    WindowEnd,
};
use process_view::TaskState;

use super::answer::answer;
use super::watch::{Seen, Watched};
use super::{SPEC, Threads};
use crate::Settings;
use crate::profiler::Profiler;

fn start() -> Timestamp {
    "2026-11-15T05:12:00Z".parse().expect("a timestamp")
}

fn watched(threads: Vec<Seen>, at_start: usize) -> Watched {
    let at_end = threads.iter().filter(|thread| !thread.ended).count();
    let measured = Duration::from_secs(5);
    Watched {
        threads,
        at_start,
        at_end,
        measured,
        end: WindowEnd::Completed,
        looks: 20,
        bytes: 40_000,
        pid: ProcessId(4242),
    }
}

fn report(watched: &Watched) -> Report {
    let settings = Settings::new(&SPEC, []).expect("defaults");
    let answer = answer(watched, &settings);
    let mut cost = answer.cost;
    cost.host = HostCost { cpu_ns: 12_000_000, peak_memory_bytes: 5_000_000 };
    let mut report = Report {
        schema: REPORT_SCHEMA.to_owned(),
        tool_version: "0.0.0".to_owned(),
        profiler: ProfilerInfo {
            id: SPEC.id.to_owned(),
            name: Threads.spec().name.to_owned(),
            question: SPEC.question.to_owned(),
            parameters: BTreeMap::new(),
        },
        target: Target {
            pid: ProcessId(4242),
            name: "Shop.Api".into(),
            runtime_version: Some("9.0.7".into()),
            architecture: Some("x64".into()),
            started_at: Some(start()),
            command_line: None,
        },
        window: Window {
            started_at: start(),
            requested_ns: 5_000_000_000,
            measured_ns: 5_000_000_000,
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

fn thread(id: u32, name: &str, state: TaskState, millis: u64) -> Seen {
    Seen::fixed(ThreadId(id), name, state, start(), millis * 1_000_000)
}

#[test]
fn the_report_is_as_users_know_it() {
    let mut threads = vec![
        thread(4242, "Shop.Api", TaskState::Sleeping, 0),
        thread(4250, "pricing", TaskState::Running, 4_990),
        thread(4251, "disk", TaskState::DiskSleep, 0),
    ];
    threads[2].looks_in_kernel = threads[2].looks;
    for id in 0..12 {
        let mut worker = thread(4300 + id, ".NET TP Worker", TaskState::Sleeping, 3);
        worker.born_in_window = id >= 1;
        threads.push(worker);
    }
    let report = report(&watched(threads, 4));
    let found: Vec<&str> = report.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(found, ["stuck-in-kernel", "thread-growth", "busy-thread"]);
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/threads.txt");
    golden::check(golden, &reports::terminal::render(&report, &reports::TerminalStyle::default()));
}

#[test]
fn an_idle_process_has_no_finding() {
    let threads = (0..30).map(|id| thread(id, ".NET TP Worker", TaskState::Sleeping, 1)).collect();
    assert!(report(&watched(threads, 30)).findings.is_empty());
}

#[test]
fn a_thread_that_mostly_waits_for_a_processor_is_not_called_busy() {
    let shared = |millis: u64, waited: u64| {
        let thread = thread(1, "dotnet", TaskState::Running, millis).kept_waiting(waited * 1_000_000);
        report(&watched(vec![thread], 1)).findings.len()
    };
    assert_eq!(shared(2_500, 2_490), 1, "it shares a processor with one other");
    assert_eq!(shared(1, 4_990), 0, "a healthy one that is behind");
}

#[test]
fn a_short_look_proves_nothing() {
    let mut short = watched(vec![thread(1, "hot", TaskState::Running, 500)], 1);
    short.measured = Duration::from_millis(500);
    assert!(report(&short).findings.is_empty());
}

#[test]
fn findings_are_no_alarm_by_themselves() {
    let report = report(&watched(vec![thread(1, "hot", TaskState::Running, 5_000)], 1));
    assert_eq!(report.findings[0].severity, Severity::Info);
}
