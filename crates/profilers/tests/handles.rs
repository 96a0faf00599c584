//! `handles` on real programs.

mod support;

use model::{Cell, Report};
use support::{finds_the_illness, is_silent_on_healthy_programs, look, look_until, rows};
use testbed::{Runtime, shared};

const EVERY: [Runtime; 3] = [Runtime::Net31, Runtime::Net8, Runtime::Net9];

fn show(report: &Report) -> String {
    reports::terminal::render(report, &reports::TerminalStyle::default())
}

fn text(cell: &Cell) -> &str {
    match cell {
        Cell::Text(text) => text,
        _ => "",
    }
}

fn number(cell: &Cell) -> u64 {
    match cell {
        Cell::Number(number) => *number,
        _ => 0,
    }
}

#[test]
fn handles_that_are_never_freed_are_found() {
    finds_the_illness("handles", "handle-leak", 1.5, &[]);
}

#[test]
fn buffers_that_stay_pinned_are_found() {
    finds_the_illness("handles", "pinned-buffers", 1.5, &[]);
}

/// A program that has stopped to make them: what is there is exact.
#[test]
fn handles_are_counted_by_kind_and_type() {
    for runtime in EVERY {
        let target =
            shared().target("handle-leak", runtime).arg("cap=16").start().expect("the patient starts");
        let report = look("handles", &target, 1.0, &[]);
        println!("{runtime}\n{}", show(&report));
        let found = rows(&report, "types");
        let jobs = found.iter().find(|row| text(&row[3]) == "Scanning.JobContext").expect("the jobs");
        // 16 MB of pages of 8 KB.
        assert_eq!((text(&jobs[0]), number(&jobs[1])), ("strong", 2048), "{jobs:?}");
        assert_eq!(text(&jobs[4]), "nothing else", "{jobs:?}");
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}

#[test]
fn who_makes_handles_is_told() {
    for runtime in EVERY {
        let target = shared().target("pinned-buffers", runtime).start().expect("the patient starts");
        let is_told = |report: &Report| {
            rows(report, "makers").iter().any(|row| {
                text(&row[0]) == "pinned" && text(&row[3]).starts_with("Messaging.Connection.Open:")
            })
        };
        let report = look_until("handles", &target, 1.0, &[], is_told);
        println!("{runtime}\n{}", show(&report));
        assert!(report.findings.iter().all(|finding| finding.id != "handle-leak"), "{:?}", report.findings);
    }
}

#[test]
fn a_strangers_handles_are_healthy() {
    let target = shared().stranger().start().expect("the stranger starts");
    let report = look("handles", &target, 1.5, &[]);
    println!("{}", show(&report));
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(target.is_alive());
}

#[test]
fn healthy_programs_are_silent() {
    is_silent_on_healthy_programs("handles", 1.5);
}
