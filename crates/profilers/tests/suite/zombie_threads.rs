//! `zombie-threads` on real programs.

use crate::support::{finds_the_illness, look, look_until_found};
use model::Confidence;
use testbed::{Runtime, Target, shared};

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

/// On a target that other questions share.
pub fn a_strangers_program_is_healthy(target: &Target) {
    let report = look("zombie-threads", target, 2.0, &[]);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(target.is_alive());
}
