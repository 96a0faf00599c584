//! The dominator tree by type: exact sums on any heap, and known trees on known heaps.
#![expect(clippy::unwrap_used, reason = "clippy knows test functions, but not the functions that they call")]

use crate::support::plans;
use heap_graph::{
    Address, Dominators, GraphBuilder, HeapGraph, Holder, LineId, Place, RootKind, Totals, TypeTree,
};
use proptest::prelude::*;

fn tree(graph: &HeapGraph) -> (TypeTree, Dominators) {
    let dominators = Dominators::of(graph);
    (TypeTree::of(graph, &dominators), dominators)
}

fn sum(totals: impl Iterator<Item = Totals>) -> Totals {
    totals.fold(Totals::default(), |all, one| Totals {
        objects: all.objects + one.objects,
        bytes: all.bytes + one.bytes,
    })
}

/// The only line below, with its type's name.
fn only<'a>(graph: &'a HeapGraph, tree: &TypeTree, above: LineId) -> (LineId, &'a str) {
    let below: Vec<LineId> = tree.below(above).collect();
    let [line] = below[..] else { panic!("{below:?}") };
    let name = match tree.line(line).place {
        Place::Type(id) => &*graph.type_info(id).name,
        Place::Root(id) => graph.root(id).name.unwrap(),
        Place::Kind(kind) => kind.label(),
        _ => "?",
    };
    (line, name)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_level_sums_up_to_what_is_alive(plan in plans(40)) {
        let graph = plan.build();
        let (tree, dominators) = tree(&graph);
        prop_assert_eq!(tree.line(tree.top()).held, dominators.reachable());
        for (id, line) in tree.lines() {
            let below = sum(tree.below(id).map(|below| tree.line(below).held));
            prop_assert_eq!(line.held, sum([line.own, below].into_iter()));
            prop_assert!(tree.below(id).all(|below| tree.above(below) == Some(id)));
            prop_assert!(matches!(line.place, Place::Type(_) | Place::Deeper) || line.own == Totals::default());
        }
        prop_assert_eq!(sum(tree.lines().map(|(_, line)| line.own)), dominators.reachable());
    }

    /// What a kind or a root holds is what its roots alone keep alive.
    #[test]
    fn roots_hold_what_they_dominate(plan in plans(40)) {
        let graph = plan.build();
        let (tree, dominators) = tree(&graph);
        for (_, line) in tree.lines() {
            match line.place {
                Place::Kind(kind) => prop_assert_eq!(line.held.bytes, dominators.retained_by_kind(kind)),
                Place::Root(id) => prop_assert_eq!(line.held.bytes, dominators.retained_by_root(id)),
                _ => {}
            }
        }
    }
}

fn chain(links: u64, types: &[&str]) -> HeapGraph {
    let mut builder = GraphBuilder::new();
    let types: Vec<_> = types.iter().map(|name| builder.add_type(name, None)).collect();
    let at = |link: u64| Address(0x10_0000 + link * 32);
    for link in 0..links {
        let its_type = types[usize::try_from(link).unwrap() % types.len()];
        builder.object(at(link), its_type, 32, u32::from(link + 1 < links)).unwrap();
    }
    for link in 1..links {
        builder.reference(at(link)).unwrap();
    }
    builder.root(RootKind::StaticField, Some("Shop.Queue.head"), at(0)).unwrap();
    builder.finish().unwrap()
}

#[test]
fn a_list_of_a_million_links_is_one_line() {
    const LINKS: u64 = 1_000_000;
    let graph = chain(LINKS, &["Node"]);
    let (tree, _) = tree(&graph);
    let (kind, _) = only(&graph, &tree, tree.top());
    let (root, name) = only(&graph, &tree, kind);
    assert_eq!(name, "Shop.Queue.head");
    let (node, _) = only(&graph, &tree, root);
    let line = tree.line(node);
    assert!(line.repeats);
    assert_eq!(line.own, Totals { objects: LINKS, bytes: LINKS * 32 });
    assert_eq!(tree.below(node).count(), 0);
}

#[test]
fn a_list_of_pairs_is_two_lines() {
    let graph = chain(1000, &["Link", "Item"]);
    let (tree, _) = tree(&graph);
    let (kind, _) = only(&graph, &tree, tree.top());
    let (root, _) = only(&graph, &tree, kind);
    let (link, name) = only(&graph, &tree, root);
    assert_eq!((name, tree.line(link).own.objects, tree.line(link).held.objects), ("Link", 500, 1000));
    let (item, name) = only(&graph, &tree, link);
    assert_eq!((name, tree.line(item).own.objects), ("Item", 500));
}

/// Types that come again after too many others are not folded; then the depth is what ends it.
#[test]
fn a_chain_of_many_types_ends_at_a_depth_and_loses_nothing() {
    let names: Vec<String> = (0..1000).map(|number| format!("Type{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let graph = chain(1_000_000, &names);
    let (tree, dominators) = tree(&graph);
    assert!(tree.lines().count() < 100);
    assert_eq!(tree.line(tree.top()).held, dominators.reachable());
    let deepest = tree.lines().max_by_key(|(_, line)| line.depth).unwrap().1;
    assert_eq!(deepest.place, Place::Deeper);
    assert!(deepest.own.objects > 999_000);
}

#[test]
fn what_several_roots_hold_has_a_line_of_its_own() {
    let mut builder = GraphBuilder::new();
    let shared = builder.add_type("Shared", None);
    for number in 0..3 {
        builder.object(Address(0x1000 + number * 64), shared, 64, 0).unwrap();
    }
    let at = |number: u64| Address(0x1000 + number * 64);
    builder.root(RootKind::StaticField, Some("A.x"), at(0)).unwrap();
    builder.root(RootKind::StaticField, Some("B.y"), at(0)).unwrap();
    builder.root(RootKind::StaticField, Some("B.y"), at(1)).unwrap();
    builder.root(RootKind::StrongHandle, None, at(1)).unwrap();
    builder.root(RootKind::StrongHandle, None, at(2)).unwrap();
    let graph = builder.finish().unwrap();
    let (tree, dominators) = tree(&graph);
    let node = |number: usize| graph.nodes().nth(number).unwrap();
    assert_eq!(dominators.dominator(node(0)), Some(Holder::Kind(RootKind::StaticField)));
    assert_eq!(dominators.dominator(node(1)), Some(Holder::AllRoots));
    let places = |above: LineId| {
        let mut places: Vec<_> = tree
            .below(above)
            .map(|id| (format!("{:?}", tree.line(id).place), tree.line(id).held.bytes))
            .collect();
        places.sort();
        places
    };
    let top = places(tree.top());
    let expected = [("Kind(StaticField)", 64), ("Kind(StrongHandle)", 64), ("Several", 64)];
    assert_eq!(top, expected.map(|(place, bytes)| (place.to_owned(), bytes)));
}
