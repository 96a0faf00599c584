//! `gc-survivors` on real programs.

use crate::support::look;
use model::{Body, Cell, Node, Report, Severity};
use testbed::{Runtime, Target};

fn tree(report: &Report) -> &Node {
    let section = report.sections.iter().find(|section| section.id == "survivors").expect("the tree");
    match &section.body {
        Body::Tree(tree) => &tree.roots[0],
        other => panic!("{other:?}"),
    }
}

fn number(cell: &Cell) -> u64 {
    match cell {
        Cell::Number(number) => *number,
        other => panic!("{other:?}"),
    }
}

/// What a line holds is what it has itself and what the lines below it hold.
fn adds_up(node: &Node) {
    let below = |column: usize| node.children.iter().map(|child| number(&child.values[column])).sum::<u64>();
    assert_eq!(number(&node.values[0]), number(&node.values[2]) + below(0), "{}", node.label);
    assert_eq!(number(&node.values[1]), number(&node.values[3]) + below(1), "{}", node.label);
    node.children.iter().for_each(adds_up);
}

fn find<'a>(node: &'a Node, label: &str) -> Option<&'a Node> {
    if node.label == label {
        return Some(node);
    }
    node.children.iter().find_map(|child| find(child, label))
}

#[test]
fn what_a_static_field_holds_hangs_on_it() {
    for runtime in Runtime::ALL {
        let target = testbed::shared().target("leak-static-collection", runtime).start().unwrap();
        let report = look("gc-survivors", &target, 1.0, &["allow-pause=yes"]);
        let top = tree(&report);
        adds_up(top);
        let orders = find(top, "Shop.Order").unwrap_or_else(|| panic!("{runtime}: {top:#?}"));
        // 16 MB of orders with about 2,200 bytes each are there from the start.
        assert!(number(&orders.values[3]) > 7_000, "{runtime}: {orders:?}");
        assert!(number(&orders.values[0]) > number(&orders.values[2]) * 10, "{runtime}: {orders:?}");
        assert!(find(orders, "System.Byte[]").is_some(), "{runtime}: {orders:?}");
        assert!(report.summary.contains("s_orders"), "{runtime}: {}", report.summary);
        let holder = report.findings.iter().find(|finding| finding.id == "heap-holder");
        assert!(holder.is_some_and(|finding| finding.severity == Severity::Info), "{runtime}: {report:?}");
        assert!(report.cost.method.contains("forced"), "{runtime}: {:?}", report.cost);
        assert!(report.notes.iter().any(|note| note.contains("collection was forced")), "{:?}", report.notes);
        assert!(target.is_alive());
    }
}

/// Where the heap can be walked, no collection has to be forced, and garbage stays out of the tree.
#[test]
fn a_walk_needs_no_collection() {
    let target = testbed::shared().target("leak-static-collection", Runtime::Net9).start().unwrap();
    let report = look("gc-survivors", &target, 1.0, &["allow-pause=yes", "collect=when-needed"]);
    let top = tree(&report);
    adds_up(top);
    let orders = find(top, "Shop.Order").unwrap_or_else(|| panic!("{top:#?}"));
    assert!(number(&orders.values[3]) > 7_000, "{orders:?}");
    assert!(!report.cost.method.contains("forced"), "{:?}", report.cost);
}

/// Objects that refer to each other in long chains: one line for each type, whatever their number.
#[test]
fn long_chains_are_short_trees() {
    let target =
        testbed::shared().target("long-gc-pauses", Runtime::Net9).arg("objects=300000").start().unwrap();
    let report = look("gc-survivors", &target, 1.0, &["allow-pause=yes", "rows=100000", "threshold=0"]);
    let top = tree(&report);
    adds_up(top);
    assert!(number(&top.values[1]) > 300_000, "{}", report.summary);
}

/// On a target that other questions share.
pub fn a_strangers_program_is_told_too(target: &Target) {
    let report = look("gc-survivors", target, 1.0, &["allow-pause=yes", "threshold=0", "rows=500"]);
    let top = tree(&report);
    adds_up(top);
    assert!(number(&top.values[1]) > 10_000, "{}", report.summary);
    assert!(find(top, "static fields").is_some(), "{top:#?}");
    assert!(
        report.findings.iter().all(|finding| finding.severity == Severity::Info),
        "{:?}",
        report.findings
    );
    assert!(target.is_alive());
}
