//! `thread-pool` on real programs.

use crate::support::{ids, look, look_until, number};
use testbed::{Runtime, Target};

const ID: &str = "thread-pool";

#[test]
fn a_starving_pool_is_found_on_every_runtime() {
    for runtime in Runtime::ALL {
        let target = testbed::shared().target("pool-starvation", runtime).start().unwrap();
        let wanted = ["thread-pool-starvation", "sync-over-async"];
        let report = look_until(ID, &target, 4.0, &[], |report| ids(report) == wanted);
        for finding in &report.findings {
            let culprit = finding.culprit.as_ref().expect("a culprit");
            assert_eq!(culprit.name, "Catalog.PriceService.GetPrice", "{runtime}: {finding:?}");
        }
        assert!(number(&report, "pool", "Work items waiting", "end").is_some_and(|queue| queue > 0.0));
        assert!(target.is_alive(), "the target lives on");
    }
}

#[test]
fn a_pool_that_blocks_but_keeps_up_does_not_starve() {
    let target = testbed::shared().target("web-two-routes", Runtime::Net9).start().unwrap();
    let report = look_until(ID, &target, 3.0, &[], |report| ids(report) == ["sync-over-async"]);
    let culprit = report.findings[0].culprit.as_ref().expect("a culprit");
    assert_eq!(culprit.name, "Shop.Api.Checkout.Wait");
}

#[test]
fn without_looks_nothing_is_stopped() {
    let target = testbed::shared().target("pool-starvation", Runtime::Net9).start().unwrap();
    let report =
        look_until(ID, &target, 4.0, &["looks=0"], |report| ids(report) == ["thread-pool-starvation"]);
    assert_eq!(report.cost.pauses.count, 0);
}

/// On a target that other questions share.
pub fn a_strangers_program_is_described(target: &Target) {
    let report = look(ID, target, 3.0, &[]);
    assert_eq!(report.target.runtime_version.as_deref(), Some("10.0.9"));
    assert!(ids(&report).is_empty(), "{:?}", report.findings);
}
