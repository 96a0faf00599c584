//! `handles` on real programs.

use crate::support::{finds_the_illness, look, look_until, rows};
use model::{Cell, Report};
use testbed::{Runtime, Target, shared};

const EVERY: [Runtime; 4] = Runtime::ALL;

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

/// The runtime gives no stack for a `GCHandle.Alloc`, but the number of the handle stands in an object.
#[test]
fn what_contains_handles_is_told() {
    for runtime in EVERY {
        let target = shared().target("pinned-buffers", runtime).start().expect("the patient starts");
        let is_told = |report: &Report| {
            rows(report, "types").iter().any(|row| {
                text(&row[0]) == "pinned" && text(&row[4]).starts_with("handle in Messaging.Connection")
            })
        };
        let report = look_until("handles", &target, 1.0, &[], is_told);
        println!("{runtime}\n{}", show(&report));
        assert!(report.findings.iter().all(|finding| finding.id != "handle-leak"), "{:?}", report.findings);
    }
}

/// On a target that other questions share.
pub fn a_strangers_handles_are_healthy(target: &Target) {
    let report = look("handles", target, 1.5, &[]);
    println!("{}", show(&report));
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(target.is_alive());
}
