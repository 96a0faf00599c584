//! The report as users see it, from a fixed heap; and sums that hold on any heap.

use std::time::Duration;

use heap_graph::{Address, Dominators, GraphBuilder, HeapGraph, RootKind, TypeId, TypeTree};
use heap_reports::Look;
use model::{Body, Cell, Cost, Node, Pauses, Report, Severity, Tree};
use proptest::prelude::*;

use super::SPEC;
use super::answer::answer;
use super::lines::{Limits, Measure, tree};
use crate::Settings;
use crate::about::About;
use crate::specimen::{self, ids};

/// Builds a heap object by object.
struct Heap {
    builder: GraphBuilder,
    next: u64,
    references: Vec<u64>,
}

impl Heap {
    fn new() -> Heap {
        Heap { builder: GraphBuilder::new(), next: 0x1_0000, references: Vec::new() }
    }

    fn kind(&mut self, name: &str) -> TypeId {
        self.builder.add_type(name, Some("Shop.dll"))
    }

    /// An object that refers to others, which must be there before it.
    fn object(&mut self, its_type: TypeId, bytes: u64, references: &[u64]) -> u64 {
        let at = self.next;
        self.next += bytes.next_multiple_of(8);
        let count = u32::try_from(references.len()).unwrap();
        self.builder.object(Address(at), its_type, bytes, count).unwrap();
        self.references.extend(references);
        at
    }

    fn root(&mut self, kind: RootKind, name: Option<&str>, at: u64) {
        self.builder.root(kind, name, Address(at)).unwrap();
    }

    fn finish(mut self) -> HeapGraph {
        for target in self.references {
            self.builder.reference(Address(target)).unwrap();
        }
        self.builder.finish().unwrap()
    }
}

fn shop() -> HeapGraph {
    let mut heap = Heap::new();
    let [text, document, order, orders, list] = [
        "System.String",
        "System.Byte[]",
        "Shop.Order",
        "Shop.Order[]",
        "System.Collections.Generic.List<Shop.Order>",
    ]
    .map(|name| heap.kind(name));
    let kept: Vec<u64> = (0..9_000)
        .map(|_| {
            let parts = [heap.object(text, 42, &[]), heap.object(document, 2_072, &[])];
            heap.object(order, 40, &parts)
        })
        .collect();
    let array = heap.object(orders, 131_096, &kept);
    let history = heap.object(list, 32, &[array]);
    heap.root(RootKind::StaticField, Some("Shop.OrderHistory.s_orders"), history);
    let (link, entry) = (heap.kind("Shop.Audit.Link"), heap.kind("Shop.Audit.Entry"));
    let mut head = heap.object(link, 32, &[]);
    for _ in 0..20_000 {
        let entry = heap.object(entry, 48, &[]);
        head = heap.object(link, 32, &[entry, head]);
    }
    heap.root(RootKind::Local, Some("thread audit (17), Shop.Audit.Writer.Run"), head);
    let buffer = heap.object(document, 65_560, &[]);
    heap.root(RootKind::PinnedHandle, None, buffer);
    let shared = heap.object(text, 1_000_022, &[]);
    heap.root(RootKind::StaticField, Some("Shop.Terms.s_text"), shared);
    heap.root(RootKind::StaticField, Some("Shop.Page.s_terms"), shared);
    for number in 0..40 {
        let small = heap.kind(&format!("Shop.Settings.Part{number:02}"));
        let part = heap.object(small, 64, &[]);
        heap.root(RootKind::StaticField, Some(&format!("Shop.Settings.s_part{number:02}")), part);
    }
    heap.finish()
}

fn report(graph: HeapGraph, typed: &[&str]) -> Report {
    let about = About {
        end: model::WindowEnd::Completed,
        cost: Cost {
            method: "heap events over the runtime's diagnostics socket, 1 forced collection".into(),
            pauses: Pauses { count: 1, total_ns: 31_000_000, longest_ns: 31_000_000 },
            bytes: 1_900_000,
            ..Cost::default()
        },
        notes: vec!["the process stood still for 31 ms; one full collection was forced".into()],
        measured: Duration::from_millis(240),
    };
    let settings = Settings::new(&SPEC, typed.iter().copied()).expect("settings");
    specimen::report(&SPEC, answer(&Look::of(graph), about, &settings))
}

fn shown(report: &Report) -> &Tree {
    match &report.sections[0].body {
        Body::Tree(tree) => tree,
        other => panic!("{other:?}"),
    }
}

fn find<'a>(node: &'a Node, label: &str) -> Option<&'a Node> {
    if node.label == label {
        return Some(node);
    }
    node.children.iter().find_map(|child| find(child, label))
}

fn count(node: &Node) -> u64 {
    1 + node.children.iter().map(count).sum::<u64>()
}

fn number(cell: &Cell) -> u64 {
    match cell {
        Cell::Number(number) => *number,
        other => panic!("{other:?}"),
    }
}

/// What a line holds is what it has itself and what the lines below it hold: to the byte, and to the object.
fn adds_up(node: &Node) -> bool {
    let below = |column: usize| node.children.iter().map(|child| number(&child.values[column])).sum::<u64>();
    number(&node.values[0]) == number(&node.values[2]) + below(0)
        && number(&node.values[1]) == number(&node.values[3]) + below(1)
        && node.children.iter().all(adds_up)
}

#[test]
fn the_report_is_as_users_know_it() {
    let report = report(shop(), &[]);
    assert_eq!(ids(&report), ["heap-holder"]);
    assert!(report.findings.iter().all(|finding| finding.severity == Severity::Info));
    specimen::check(&report);
}

#[test]
fn lists_are_one_line_and_sums_stay() {
    let report = report(shop(), &[]);
    let top = &shown(&report).roots[0];
    let list = find(top, "Shop.Audit.Link *").expect("the list");
    assert_eq!(number(&list.values[3]), 20_001);
    assert_eq!(number(&list.values[0]), 20_001 * 32 + 20_000 * 48);
    assert!(adds_up(top));
    assert!(count(top) <= 30, "{}", count(top));
}

#[test]
fn sorting_depth_threshold_and_rows_are_obeyed() {
    let by = |typed: &[&str]| shown(&report(shop(), typed)).roots[0].clone();
    let deep = by(&["depth=3"]);
    assert!(adds_up(&deep) && find(&deep, "Shop.Order[]").is_none() && find(&deep, "on 1 type").is_some());
    let few = by(&["rows=9", "threshold=0"]);
    assert!(adds_up(&few) && count(&few) == 9, "{few:?}");
    let all = by(&["rows=100000", "threshold=0"]);
    assert!(adds_up(&all) && find(&all, "Shop.Settings.Part39").is_some());
    let large = by(&["threshold=400"]);
    assert!(find(&large, "Shop.Order").is_some() && find(&large, "local variables").is_none());
    // Most objects hang on the local variable, most bytes on the static field.
    assert_eq!(by(&[]).children[0].label, "static fields");
    assert_eq!(by(&["sort=count"]).children[0].label, "local variables");
    let bytes = by(&["sort=bytes", "rows=16"]);
    assert!(adds_up(&bytes) && find(&bytes, "System.Byte[]").is_some(), "{bytes:?}");
}

#[test]
fn an_empty_heap_is_an_answer() {
    let report = report(Heap::new().finish(), &[]);
    assert_eq!(
        report.summary,
        "0 objects with 0 B survive a full collection; no root with a name holds much of it alone."
    );
    assert!(report.findings.is_empty());
}

/// Objects by type, and to whom each refers; roots by kind, name and object.
type Plan = (Vec<(u8, Vec<usize>)>, Vec<(u8, bool, usize)>);

fn built(plan: &Plan) -> HeapGraph {
    let mut builder = GraphBuilder::new();
    let types: Vec<TypeId> = (0..6).map(|number| builder.add_type(&format!("T{number}"), None)).collect();
    let at = |object: usize| Address(0x1000 + 64 * object as u64);
    for (index, (its_type, targets)) in plan.0.iter().enumerate() {
        let size = 24 + 8 * (index as u64 % 5);
        builder
            .object(at(index), types[usize::from(*its_type)], size, u32::try_from(targets.len()).unwrap())
            .unwrap();
    }
    for target in plan.0.iter().flat_map(|(_, targets)| targets) {
        builder.reference(at(target % plan.0.len())).unwrap();
    }
    for (kind, named, target) in &plan.1 {
        let name = named.then(|| format!("root{target}"));
        builder.root(RootKind::ALL[usize::from(*kind)], name.as_deref(), at(target % plan.0.len())).unwrap();
    }
    builder.finish().unwrap()
}

proptest! {
    #[test]
    fn every_level_adds_up_whatever_is_left_out(
        plan in (
            proptest::collection::vec((0_u8..6, proptest::collection::vec(0_usize..60, 0..4)), 1..60),
            proptest::collection::vec((0_u8..12, any::<bool>(), 0_usize..60), 0..6),
        ),
        rows in 2_u64..40,
        threshold in 0_u64..1000,
        depth in 1_u64..20,
        measure in proptest::sample::select(vec![Measure::Retained, Measure::Bytes, Measure::Count]),
    ) {
        let graph = built(&plan);
        let dominators = Dominators::of(&graph);
        let lines = TypeTree::of(&graph, &dominators);
        let shown = tree(&graph, &lines, &Limits { measure, threshold, depth, rows });
        let top = &shown.roots[0];
        prop_assert!(adds_up(top), "{top:?}");
        prop_assert_eq!(number(&top.values[0]), dominators.reachable().bytes);
        prop_assert_eq!(number(&top.values[1]), dominators.reachable().objects);
        prop_assert!(count(top) <= rows);
    }
}
