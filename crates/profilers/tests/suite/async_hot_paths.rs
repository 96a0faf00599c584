//! `async-hot-paths` on real programs.

use crate::support::{finds_the_illness, look, look_until};
use model::{Body, Cell, Node, Report};
use testbed::{Runtime, Target};

/// On a test machine that is busy it takes long to stop all threads, which would make looks rare.
const OFTEN: &[&str] = &["budget=100"];

/// The part of the processor time of a method in the tree, in per cent, below a root of this name.
fn share(report: &Report, root: &str, method: &str) -> f64 {
    let found = report.sections.iter().find(|section| section.id == "tree");
    let Some(Body::Tree(tree)) = found.map(|section| &section.body) else { return 0.0 };
    let roots = tree.roots.iter().filter(|node| node.label.contains(root));
    roots.map(|node| below(node, method)).sum()
}

fn below(node: &Node, method: &str) -> f64 {
    if node.label.contains(method) {
        return match node.values[1] {
            Cell::Fraction(percent) => percent,
            _ => panic!("{node:?}"),
        };
    }
    node.children.iter().map(|child| below(child, method)).sum()
}

#[test]
fn the_method_that_burns_the_cpu_is_found_on_every_runtime() {
    finds_the_illness("async-hot-paths", "async-hot-path", 4.0, OFTEN);
}

/// A quote simulates three times and an audit once; both are resumed by the pool's dispatch loop.
#[test]
fn cpu_is_attributed_to_those_who_await_it() {
    for runtime in testbed::two_of(&Runtime::ALL) {
        let target = testbed::shared().target("async-hot-path", runtime).start().unwrap();
        let report = look_until("async-hot-paths", &target, 5.0, OFTEN, |report| {
            let quotes = share(report, "QuoteDesk.QuoteRequests", "PriceModel.SimulateAsync");
            let audits = share(report, "QuoteDesk.AuditRequests", "PriceModel.SimulateAsync");
            // 75 and 25 of what is attributed, as exact as two hundred looks are.
            quotes + audits > 80.0 && (1.8..6.0).contains(&(quotes / audits.max(0.01)))
        });
        assert!(report.cost.pauses.count > 0, "{:?}", report.cost);
        assert!(target.is_alive(), "{runtime}");
    }
}

#[test]
fn the_layers_between_are_on_the_path() {
    let target = testbed::shared().target("async-hot-path", Runtime::Net9).start().unwrap();
    let report = look_until("async-hot-paths", &target, 4.0, OFTEN, |report| {
        share(report, "QuoteDesk.QuoteRequests", "PriceModel.SimulateAsync") > 40.0
    });
    for layer in ["QuoteService.HandleQuoteAsync", "QuoteService.ThreeScenariosAsync"] {
        assert!(share(&report, "QuoteDesk.QuoteRequests", layer) > 40.0, "{layer}: {report:?}");
    }
}

/// On a target that other questions share.
pub fn a_strangers_program_is_looked_at_without_harm(target: &Target) {
    let report = look("async-hot-paths", target, 2.0, &[]);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(target.is_alive());
}

/// Of two loops one is awaited in every moment or runs, so its wall time is the window's.
#[test]
fn wall_time_is_that_of_calls_from_start_to_end_where_the_runtime_lets_them_be_counted() {
    let target = testbed::shared().target("async-hot-path", Runtime::Net9).start().unwrap();
    let report = look_until("async-hot-paths", &target, 4.0, OFTEN, |report| {
        let section = report.sections.iter().find(|section| section.id == "tree");
        let Some(Body::Tree(tree)) = section.map(|section| &section.body) else { return false };
        let root = tree.roots.iter().find(|node| node.label.contains("QuoteDesk.QuoteRequests"));
        let Some(Cell::Number(wall)) = root.map(|node| &node.values[4]) else { return false };
        // One call that never ends.
        (wall.abs_diff(report.window.measured_ns)) * 50 < report.window.measured_ns
    });
    assert!(report.notes.iter().any(|note| note.starts_with("Wall time is that of")), "{:?}", report.notes);

    let target = testbed::shared().target("async-hot-path", Runtime::Net8).start().unwrap();
    let report = look("async-hot-paths", &target, 2.0, &[]);
    assert!(report.notes.iter().any(|note| note.starts_with("Wall time is not known")), "{:?}", report.notes);
}
