//! `thread-time` on real programs.

use crate::support::{ids, look, look_until, number};
use testbed::{Runtime, Target};

const ID: &str = "thread-time";

#[test]
fn a_route_that_blocks_is_named_on_every_runtime() {
    for runtime in testbed::two_of(&Runtime::ALL) {
        let target = testbed::shared().target("web-two-routes", runtime).start().unwrap();
        let report = look_until(ID, &target, 2.0, &[], |report| ids(report) == ["sync-over-async"]);
        let culprit = report.findings[0].culprit.as_ref().expect("a culprit");
        assert_eq!(culprit.name, "Shop.Api.Checkout.Wait", "{runtime}");
        assert!(report.cost.pauses.count > 0, "the sampler's pauses are counted: {:?}", report.cost);
        assert!(target.is_alive(), "the target lives on");
    }
}

#[test]
fn threads_that_only_wait_count_when_they_are_asked_for() {
    let target = testbed::shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let time = |report: &model::Report| number(report, "methods", "Patients.Program.RunForEver", "time");
    // Its main thread sleeps for ever.
    assert_eq!(time(&look(ID, &target, 1.5, &["top=1000"])), None);
    look_until(ID, &target, 1.5, &["top=1000", "idle=show"], |report| time(report).is_some());
}

#[test]
fn a_thread_that_computes_is_seen_to_run() {
    for runtime in Runtime::ALL {
        let target = testbed::shared().target("hot-method", runtime).start().unwrap();
        look_until(ID, &target, 1.5, &[], |report| {
            let of = |column| number(report, "methods", "Pricing.DiscountBook.FindBest", column);
            of("time").zip(of("running")).is_some_and(|(time, running)| time > 0.0 && running > 0.9 * time)
        });
    }
}

/// On a target that other questions share.
pub fn a_strangers_program_is_described(target: &Target) {
    let report = look(ID, target, 1.5, &["idle=show"]);
    assert_eq!(report.target.runtime_version.as_deref(), Some("10.0.9"));
    assert!(report.sections.iter().any(|section| section.id == "calls"), "{}", report.summary);
    assert!(report.cost.pauses.count > 0, "the sampler's pauses are counted: {:?}", report.cost);
    assert!(ids(&report).is_empty(), "{:?}", report.findings);
}
