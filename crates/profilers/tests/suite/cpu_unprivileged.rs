//! `cpu-unprivileged` on real programs.

use crate::support::{ids, look, look_until, number};
use model::{Body, Report};
use testbed::{Runtime, Target};

const ID: &str = "cpu-unprivileged";

/// A loaded test machine gives a busy program only a share of a processor, so a finding may need several looks.
fn blames(target: &Target, method: &str) -> Report {
    look_until(ID, target, 2.0, &[], |report| {
        report.findings.iter().any(|finding| {
            finding.id == "hot-method"
                && finding.culprit.as_ref().is_some_and(|culprit| culprit.name == method)
        })
    })
}

#[test]
fn a_hot_method_is_named_on_every_runtime() {
    for runtime in testbed::two_of(&Runtime::ALL) {
        let target = testbed::shared().target("hot-method", runtime).start().unwrap();
        let report = blames(&target, "Pricing.DiscountBook.FindBest");
        assert!(report.summary.contains("Pricing.DiscountBook.FindBest"), "{}", report.summary);
        assert!(report.cost.pauses.count > 0, "the sampler's pauses are counted: {:?}", report.cost);
        assert!(target.is_alive(), "the target lives on");
    }
}

#[test]
fn time_in_the_framework_is_blamed_on_the_programs_own_method() {
    for runtime in [Runtime::Net31, Runtime::Net9] {
        let target = testbed::shared().target("regex-backtracking", runtime).start().unwrap();
        blames(&target, "Accounts.EmailAddress.IsValid");
    }
}

/// One route burns, the other blocks, each for 100 ms a request and with five clients.
#[test]
fn on_the_processor_only_the_burning_route_counts_and_on_the_wall_clock_both_do() {
    const BURN: &str = "Shop.Api.Checkout.Burn";
    const WAIT: &str = "Shop.Api.Checkout.Wait";
    for runtime in testbed::two_of(&Runtime::ALL).into_iter().take(1) {
        let target = testbed::shared().target("web-two-routes", runtime).start().unwrap();
        let total = |report: &Report, method: &str| number(report, "methods", method, "total");
        let only_burn = |report: &Report| {
            let (burn, wait) = (total(report, BURN).unwrap_or(0.0), total(report, WAIT).unwrap_or(0.0));
            burn > 0.0 && burn >= 9.0 * wait
        };
        let report = look_until(ID, &target, 2.0, &["top=1000"], only_burn);
        assert!(total(&report, BURN).unwrap() > 0.0, "{runtime}: {}", report.summary);

        let alike = |report: &Report| {
            let (burn, wait) = (in_tree(report, BURN), in_tree(report, WAIT));
            burn > 0.0 && (burn - wait).abs() <= 0.25 * burn.max(wait)
        };
        look_until("thread-time", &target, 3.0, &["top=1000"], alike);
    }
}

/// The time of a method and all it calls, from the call tree.
fn in_tree(report: &Report, method: &str) -> f64 {
    let section = report.sections.iter().find(|section| section.id == "calls").expect("a call tree");
    let Body::Tree(tree) = &section.body else { panic!("a tree") };
    let mut found = 0.0;
    let mut open: Vec<&model::Node> = tree.roots.iter().collect();
    while let Some(node) = open.pop() {
        match (&node.values[1], node.label == method) {
            #[expect(clippy::cast_precision_loss, reason = "only to compare")]
            (model::Cell::Number(total), true) => found += *total as f64,
            _ => open.extend(&node.children),
        }
    }
    found
}

#[test]
fn the_samples_cover_the_processor_time() {
    let target = testbed::shared().target("hot-method", Runtime::Net9).start().unwrap();
    look_until(ID, &target, 2.0, &[], |report| {
        let seen = number(report, "threads", "running .NET code, seen in samples", "share");
        seen.is_some_and(|seen| seen > 70.0)
    });
}

/// On a target that other questions share.
pub fn a_strangers_program_is_described(target: &Target) {
    let report = look(ID, target, 2.0, &[]);
    assert_eq!(report.target.runtime_version.as_deref(), Some("10.0.9"));
    assert!(report.summary.contains("of CPU in"), "{}", report.summary);
    assert!(ids(&report).is_empty(), "{:?}", report.findings);
}
