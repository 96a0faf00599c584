//! `contention` on real programs.

use crate::support::{finds_the_illness, ids, look, look_until_found, rows};
use model::{Body, Cell};
use testbed::{Runtime, Target};

/// On a loaded test machine the patients wait for processors more than for locks.
const LOADED: &[&str] = &["waiting=5"];

#[test]
fn a_queue_for_a_lock_is_found_with_the_method_that_waits() {
    finds_the_illness("contention", "lock-contention", 2.0, LOADED);
}

#[test]
fn the_lock_type_of_net_9_is_seen_too() {
    finds_the_illness("contention", "lock-contention-lock-type", 3.0, &["waiting=1"]);
}

#[test]
fn owners_are_named_where_the_runtime_tells_them() {
    for runtime in [Runtime::Net8, Runtime::Net9, Runtime::Net10] {
        let target = testbed::shared().target("lock-contention", runtime).start().unwrap();
        let report = look_until_found("contention", &target, 2.0, LOADED, "lock-contention");
        for row in rows(&report, "owner-threads") {
            let Cell::Text(thread) = &row[1] else { panic!("{row:?}") };
            assert!(thread.starts_with("order-"), "{runtime}: {row:?}");
        }
        let evidence = &report.findings[0].evidence;
        let taken = evidence.iter().find(|evidence| evidence.what == "Owner took it");
        assert!(taken.is_some_and(|taken| taken.seen.contains("Inventory.Stock.Reserve")), "{evidence:?}");
    }
}

#[test]
fn samples_show_what_the_owner_does() {
    let target = testbed::shared().target("lock-contention", Runtime::Net9).start().unwrap();
    for _ in 0..10 {
        let report = look("contention", &target, 3.0, &["waiting=5", "owners=samples"]);
        let Some(section) = report.sections.iter().find(|section| section.id == "owners") else { continue };
        let Body::Stacks(stacks) = &section.body else { panic!("{section:?}") };
        assert_eq!(stacks.stacks[0].frames[0].name, "Inventory.Stock.Recount", "{section:?}");
        assert!(target.is_alive());
        return;
    }
    panic!("no owner was sampled");
}

#[test]
fn the_times_of_waits_fit_together() {
    let target = testbed::shared().target("lock-contention", Runtime::Net9).start().unwrap();
    let report = look_until_found("contention", &target, 2.0, LOADED, "lock-contention");
    let lock = &rows(&report, "locks")[0];
    let [_, Cell::Number(waits), Cell::Number(total), Cell::Number(mean), Cell::Number(longest), ..] =
        lock.as_slice()
    else {
        panic!("{lock:?}")
    };
    assert!(total >= longest && longest >= mean && waits > &0, "{lock:?}");
}

/// On a target that other questions share.
pub fn a_strangers_program_does_not_queue(target: &Target) {
    let report = look("contention", target, 2.0, &[]);
    assert!(ids(&report).is_empty(), "{:?}", report.findings);
    assert!(target.is_alive());
}
