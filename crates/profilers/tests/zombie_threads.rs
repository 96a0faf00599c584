//! `zombie-threads` on real programs.

mod support;

use model::Confidence;
use support::{finds_the_illness, is_silent_on_healthy_programs, look, look_until_found};
use testbed::{Runtime, shared};

#[test]
fn threads_that_are_never_acknowledged_are_found() {
    finds_the_illness("zombie-threads", "zombie-threads", 4.0, &[]);
}

#[test]
fn growth_is_what_makes_it_sure() {
    let target = shared().target("zombie-threads", Runtime::Net9).start().expect("the patient starts");
    let report = look_until_found("zombie-threads", &target, 4.0, &[], "thread-leak");
    assert_eq!(report.findings[0].confidence, Confidence::High);
    assert!(report.cost.pauses.count >= 2, "{:?}", report.cost.pauses);
    println!("{}", reports::terminal::render(&report, &reports::TerminalStyle::default()));
}

#[test]
fn threads_that_come_and_go_are_no_leak() {
    let target = shared()
        .target("zombie-threads", Runtime::Net9)
        .arg("ends=300")
        .arg("rate=20")
        .start()
        .expect("the patient starts");
    let report = look("zombie-threads", &target, 3.0, &[]);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn a_strangers_program_is_healthy() {
    let target = shared().stranger().start().expect("the stranger starts");
    let report = look("zombie-threads", &target, 2.0, &[]);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(target.is_alive());
}

#[test]
fn healthy_programs_are_silent() {
    is_silent_on_healthy_programs("zombie-threads", 2.0);
}
