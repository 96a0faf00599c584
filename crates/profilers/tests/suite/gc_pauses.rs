//! `gc-pauses` on real programs.

use crate::support::{finds_the_illness, ids, look, look_until_found, rows};
use model::{Cell, Report};
use testbed::{Runtime, Target};

fn culprit(report: &Report, finding: &str) -> String {
    let found = report.findings.iter().find(|found| found.id == finding).expect("the finding");
    found.culprit.as_ref().expect("a culprit").name.clone()
}

#[test]
fn forced_collections_are_found_with_the_method_that_forces_them() {
    finds_the_illness("gc-pauses", "forced-collections", 2.0, &[]);
}

#[test]
fn long_pauses_are_found_with_the_method_that_triggers_them() {
    finds_the_illness("gc-pauses", "long-gc-pauses", 5.0, &[]);
}

/// The server's collector stops the program and collects on threads of its own.
#[test]
fn forced_collections_of_the_servers_collector_are_found_too() {
    for runtime in Runtime::ALL {
        let builder = testbed::shared().target("forced-collections", runtime);
        let prefix = if runtime == Runtime::Net31 { "COMPlus" } else { "DOTNET" };
        let target = builder.env(format!("{prefix}_gcServer"), "1").start().unwrap();
        let report = look_until_found("gc-pauses", &target, 3.0, &[], "induced-gc");
        assert_eq!(culprit(&report, "induced-gc"), "Reports.MemoryJanitor.Trim", "{runtime}");
        let pauses = rows(&report, "longest");
        assert!(pauses.iter().all(|row| row[3] == Cell::from("gen 2 blocking")), "{runtime}: {pauses:?}");
    }
}

#[test]
fn every_pause_is_told_with_its_parts() {
    let target = testbed::shared().target("forced-collections", Runtime::Net9).start().unwrap();
    let report = look_until_found("gc-pauses", &target, 3.0, &["top=1000"], "induced-gc");
    for row in rows(&report, "longest") {
        let [Cell::Number(_), Cell::Number(pause), Cell::Number(stopping), ..] = row.as_slice() else {
            panic!("{row:?}")
        };
        assert!(pause >= stopping && *pause > 0, "{row:?}");
    }
    let Cell::Number(all) = rows(&report, "pauses").last().unwrap()[1] else { panic!("{report:?}") };
    assert_eq!(all, rows(&report, "longest").len() as u64);
}

#[test]
fn background_collections_are_told_from_blocking_ones() {
    let target = testbed::shared().target("allocation-pressure", Runtime::Net9).start().unwrap();
    for _ in 0..10 {
        let report = look("gc-pauses", &target, 4.0, &[]);
        if rows(&report, "pauses").iter().any(|row| row[0] == Cell::from("gen 2 background")) {
            return;
        }
    }
    panic!("no background collection was seen");
}

/// On a target that other questions share.
pub fn a_strangers_program_collects_nothing(target: &Target) {
    let report = look("gc-pauses", target, 2.0, &[]);
    assert!(ids(&report).is_empty(), "{:?}", report.findings);
    assert!(target.is_alive());
}
