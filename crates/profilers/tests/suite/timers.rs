//! `timers` on real programs.

use crate::support::{finds_the_illness, look, look_until, look_until_found, rows};
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

#[test]
fn timers_that_are_never_disposed_are_found() {
    finds_the_illness("timers", "leak-timers", 1.5, &[]);
}

#[test]
fn a_flood_of_timers_is_found() {
    finds_the_illness("timers", "timer-flood", 1.5, &[]);
}

/// A callback that has run is named with its line, and all its timers are counted.
#[test]
fn the_method_the_period_and_the_count_are_told() {
    for runtime in EVERY {
        let target = shared().target("timer-flood", runtime).start().expect("the patient starts");
        let is_named = |report: &Report| {
            rows(report, "timers").iter().any(|row| {
                row[0] == Cell::from(10_000_u64)
                    && text(&row[3]) == "1 s"
                    && text(&row[5]).starts_with("Presence.Device.Beat:")
            })
        };
        let report = look_until("timers", &target, 1.0, &[], is_named);
        println!("{runtime}\n{}", show(&report));
        let culprit = report.findings[0].culprit.as_ref().expect("a culprit");
        assert_eq!(culprit.name, "Presence.Device.Beat");
        assert!(culprit.file.as_deref().is_some_and(|file| file.ends_with("TimerFlood.cs")), "{culprit:?}");
    }
}

#[test]
fn delays_are_told_by_who_awaits_them() {
    for runtime in EVERY {
        let target = shared().target("healthy-async-waits", runtime).start().expect("the control starts");
        let is_named = |report: &Report| {
            rows(report, "timers").iter().any(|row| {
                text(&row[2]) == "Task.Delay" && text(&row[5]).starts_with("Depot.Service.RemindAsync")
            })
        };
        let report = look_until("timers", &target, 1.0, &[], is_named);
        println!("{runtime}\n{}", show(&report));
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}

#[test]
fn growth_is_told_on_every_runtime() {
    for runtime in EVERY {
        let target = shared().target("leak-timers", runtime).start().expect("the patient starts");
        let report = look_until_found("timers", &target, 1.5, &[], "timer-leak");
        println!("{runtime}\n{}", show(&report));
        let grows = |report: &Report| {
            report.findings.iter().any(|finding| finding.evidence.iter().any(|it| it.what == "Growth"))
        };
        look_until("timers", &target, 1.5, &[], grows);
        assert!(target.is_alive());
    }
}

/// On a target that other questions share.
pub fn a_strangers_timers_are_read_and_healthy(target: &Target) {
    let report = look("timers", target, 1.5, &[]);
    println!("{}", show(&report));
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(target.is_alive());
}
