//! Answers on heaps small enough to know by hand.
#![expect(clippy::unwrap_used, reason = "clippy knows test functions, but not the functions that they call")]

use heap_graph::{
    Address, AddressIndex, Dominators, Error, GraphBuilder, HeapGraph, Holder, NodeId, PathTree, RootKind,
    ShortestPaths, Totals, TypeId, by_type, growth, retained_by_all_of_type, shallow_totals, shapes_to_type,
};

/// A heap of objects `(type, size, references)`; object i lies at 0x1000 * (i + 1), references name objects.
fn heap(objects: &[(&str, u64, &[usize])], roots: &[(RootKind, Option<&str>, usize)]) -> HeapGraph {
    let at = |object: usize| Address(0x1000 * (object as u64 + 1));
    let mut builder = GraphBuilder::new();
    let mut known: Vec<(&str, TypeId)> = Vec::new();
    for &(name, ..) in objects {
        if !known.iter().any(|&(other, _)| other == name) {
            known.push((name, builder.add_type(name, None)));
        }
    }
    for (index, &(name, size, references)) in objects.iter().enumerate() {
        let its_type = known.iter().find(|&&(other, _)| other == name).unwrap().1;
        let count = u32::try_from(references.len()).unwrap();
        builder.object(at(index), its_type, size, count).unwrap();
    }
    for &(.., references) in objects {
        references.iter().for_each(|&target| builder.reference(at(target)).unwrap());
    }
    for &(kind, name, target) in roots {
        builder.root(kind, name, at(target)).unwrap();
    }
    builder.finish().unwrap()
}

fn node(graph: &HeapGraph, index: usize) -> NodeId {
    graph.nodes().nth(index).unwrap()
}

fn type_named(graph: &HeapGraph, name: &str) -> TypeId {
    graph.types_named(name).next().unwrap()
}

const STATIC: RootKind = RootKind::StaticField;

/// ```text
///  static A.a --> 0 --> 1 --> 3 --> 4        5 --> 4   (5 is garbage)
///                 0 --> 2 --> 3
/// ```
fn diamond() -> HeapGraph {
    heap(
        &[
            ("Top", 10, &[1, 2]),
            ("Side", 20, &[3]),
            ("Side", 40, &[3]),
            ("Low", 80, &[4]),
            ("Leaf", 160, &[]),
            ("Dead", 320, &[4]),
        ],
        &[(STATIC, Some("A.a"), 0)],
    )
}

#[test]
fn a_diamond_is_dominated_by_its_top() {
    let graph = diamond();
    let dominators = Dominators::of(&graph);
    let retained: Vec<u64> = graph.nodes().map(|node| dominators.retained(node)).collect();
    assert_eq!(retained, [310, 20, 40, 240, 160, 0]);
    let root = graph.roots().next().unwrap().0;
    let expected = [
        Some(Holder::Root(root)),
        Some(Holder::Node(node(&graph, 0))),
        Some(Holder::Node(node(&graph, 0))),
        Some(Holder::Node(node(&graph, 0))),
        Some(Holder::Node(node(&graph, 3))),
        None,
    ];
    let found: Vec<_> = graph.nodes().map(|node| dominators.dominator(node)).collect();
    assert_eq!(found, expected);
    assert_eq!(dominators.garbage(), Totals { objects: 1, bytes: 320 });
    assert_eq!(dominators.reachable(), Totals { objects: 5, bytes: 310 });
    assert_eq!(dominators.retained_by_root(root), 310);
}

#[test]
fn two_objects_of_a_type_hold_together_what_neither_holds_alone() {
    let graph = diamond();
    let dominators = Dominators::of(&graph);
    let side = type_named(&graph, "Side");
    assert_eq!(dominators.retained_by_type(side), 60);
    assert_eq!(retained_by_all_of_type(&graph, side), 300);
}

#[test]
fn a_list_counts_once_for_its_type() {
    let graph = heap(
        &[("Node", 1, &[1]), ("Node", 2, &[2]), ("Node", 4, &[3]), ("Data", 8, &[])],
        &[(RootKind::Local, None, 0)],
    );
    let dominators = Dominators::of(&graph);
    assert_eq!(dominators.retained_by_type(type_named(&graph, "Node")), 15);
    assert_eq!(dominators.retained_by_type(type_named(&graph, "Data")), 8);
}

#[test]
fn an_object_of_two_roots_belongs_to_what_is_above_both() {
    let objects: &[(&str, u64, &[usize])] = &[("A", 1, &[2]), ("B", 2, &[2]), ("C", 4, &[])];
    let graph = heap(objects, &[(STATIC, Some("X.a"), 0), (STATIC, Some("X.b"), 1)]);
    let dominators = Dominators::of(&graph);
    assert_eq!(dominators.dominator(node(&graph, 2)), Some(Holder::Kind(STATIC)));
    assert_eq!(dominators.retained_by_kind(STATIC), 7);
    let by_root: Vec<u64> = graph.roots().map(|(id, _)| dominators.retained_by_root(id)).collect();
    assert_eq!(by_root, [1, 2]);

    let graph = heap(objects, &[(STATIC, Some("X.a"), 0), (RootKind::StrongHandle, None, 1)]);
    let dominators = Dominators::of(&graph);
    assert_eq!(dominators.dominator(node(&graph, 2)), Some(Holder::AllRoots));
    assert_eq!(dominators.retained_by_kind(STATIC), 1);
    assert_eq!(dominators.retained_by_kind(RootKind::StrongHandle), 2);
}

#[test]
fn a_static_field_holds_its_object_once_the_runtimes_table_is_cut() {
    let mut graph = heap(
        &[("System.Object[]", 100, &[1, 1, 2]), ("Cache", 10, &[]), ("Other", 5, &[])],
        &[(STATIC, Some("A.cache"), 1), (RootKind::PinnedHandle, None, 0)],
    );
    assert_eq!(Dominators::of(&graph).retained_by_kind(STATIC), 0);
    assert_eq!(graph.cut_statics_tables(), 2);
    assert_eq!(graph.cut_statics_tables(), 0);
    let dominators = Dominators::of(&graph);
    assert_eq!(dominators.retained_by_kind(STATIC), 10);
    assert_eq!(dominators.retained_by_kind(RootKind::PinnedHandle), 105);
    assert_eq!(dominators.reachable().bytes, 115);
}

#[test]
fn a_static_field_of_a_thread_holds_its_object_once_the_threads_tables_are_cut() {
    let objects: &[(&str, u64, &[usize])] = &[
        ("System.Object[]", 100, &[1]),
        ("System.Object[]", 50, &[2, 3]),
        ("Cache", 10, &[]),
        ("Other", 5, &[]),
    ];
    let field = RootKind::ThreadStaticField;
    let mut graph =
        heap(objects, &[(field, Some("A.cache"), 2), (field, Some("thread 7, thread statics"), 0)]);
    assert_eq!(graph.cut_statics_tables(), 1);
    let dominators = Dominators::of(&graph);
    let cache = graph.roots().find(|(_, root)| root.name == Some("A.cache")).unwrap().0;
    assert_eq!(dominators.retained_by_root(cache), 10);
    assert_eq!(dominators.reachable().bytes, 165);
}

#[test]
fn sizes_above_four_gigabytes_add_up() {
    let big = 5_000_000_000;
    let graph = heap(&[("Big", big, &[1]), ("Big", big, &[])], &[(STATIC, None, 0)]);
    let dominators = Dominators::of(&graph);
    assert_eq!(dominators.retained(node(&graph, 0)), 10_000_000_000);
    assert_eq!(shallow_totals(&graph)[0], Totals { objects: 2, bytes: 10_000_000_000 });
}

#[test]
fn paths_are_shortest_and_prefer_named_roots() {
    let graph = heap(
        &[("A", 1, &[1, 2]), ("B", 1, &[2]), ("C", 1, &[]), ("Dead", 1, &[])],
        &[(RootKind::Local, None, 0), (STATIC, Some("P.q"), 0)],
    );
    let paths = ShortestPaths::of(&graph);
    let (root, steps) = paths.path(node(&graph, 2)).unwrap();
    assert_eq!(graph.root(root).name, Some("P.q"));
    let steps: Vec<usize> = steps.iter().map(|step| step.node.index()).collect();
    assert_eq!(steps, [0, 2]);
    assert_eq!(paths.path(node(&graph, 3)), None);
}

#[test]
fn paths_of_one_shape_are_counted_together() {
    let graph = heap(
        &[("List", 10, &[1]), ("Item[]", 10, &[2, 3]), ("Item", 5, &[]), ("Item", 6, &[]), ("Item", 7, &[])],
        &[(STATIC, Some("Shop.all"), 0), (RootKind::Local, None, 4)],
    );
    let item = type_named(&graph, "Item");
    let found = shapes_to_type(&graph, &ShortestPaths::of(&graph), item, 10);
    let shown: Vec<(u64, u64, Vec<&str>)> = found
        .shapes
        .iter()
        .map(|shape| {
            let names = shape.steps.iter().map(|step| &*graph.type_info(step.type_id).name).collect();
            (shape.objects, shape.bytes, names)
        })
        .collect();
    assert_eq!(shown, [(2, 11, vec!["List", "Item[]", "Item"]), (1, 7, vec!["Item"])]);
    let one = shapes_to_type(&graph, &ShortestPaths::of(&graph), item, 1);
    assert_eq!(one.others, Totals { objects: 1, bytes: 7 });
}

#[test]
fn a_list_of_a_million_links_has_one_shape_and_no_recursion() {
    let count = 1_000_000_u64;
    let mut builder = GraphBuilder::new();
    let (head, link) = (builder.add_type("List", None), builder.add_type("Link", None));
    builder.object(Address(8), head, 24, 1).unwrap();
    builder.reference(Address(0x1_0000)).unwrap();
    for index in 0..count {
        let at = |index: u64| Address(0x1_0000 + index * 24);
        let next = if index + 1 < count { at(index + 1) } else { Address(0) };
        builder.object(at(index), link, 24, 2).unwrap();
        builder.reference(next).unwrap();
        builder.reference(if index > 0 { at(index - 1) } else { Address(8) }).unwrap();
    }
    builder.root(STATIC, Some("A.list"), Address(8)).unwrap();
    let graph = builder.finish().unwrap();
    let dominators = Dominators::of(&graph);
    assert_eq!(dominators.retained(node(&graph, 0)), 24 * (count + 1));
    let paths = ShortestPaths::of(&graph);
    let last = graph.nodes().last().unwrap();
    assert_eq!(paths.path(last).unwrap().1.len() as u64, count + 1);
    let found = shapes_to_type(&graph, &paths, link, 10);
    assert_eq!(found.shapes.len(), 1);
    assert_eq!(found.shapes[0].objects, count);
    assert!(found.shapes[0].steps[1].repeats);
}

#[test]
fn growth_is_by_name_and_module() {
    let before = diamond();
    let after =
        heap(&[("Top", 10, &[1, 2]), ("New", 7, &[]), ("Side", 20, &[])], &[(STATIC, Some("A.a"), 0)]);
    let rows = |graph: &HeapGraph| by_type(graph, &Dominators::of(graph));
    let changes = growth(&rows(&before), &rows(&after));
    let shown: Vec<_> = changes.iter().map(|c| (&*c.name, c.objects(), c.bytes(), c.retained())).collect();
    assert_eq!(
        shown,
        [
            ("New", 1, 7, 7),
            ("Side", -1, -40, -40),
            ("Leaf", -1, -160, -160),
            ("Low", -1, -80, -240),
            ("Top", 0, 0, -273)
        ]
    );
    assert!(growth(&rows(&before), &rows(&before)).is_empty());
}

#[test]
fn what_points_nowhere_is_left_out_and_counted() {
    let mut builder = GraphBuilder::new();
    let its_type = builder.type_of_handle(0xabc);
    builder.object(Address(0x1000), its_type, 24, 4).unwrap();
    builder.object(Address(0x2000), its_type, 24, 1).unwrap();
    for target in [0x2000, 0, 0x1004, 0x1000, 0x3000] {
        builder.reference(Address(target)).unwrap();
    }
    builder.root(RootKind::Local, None, Address(0x9999)).unwrap();
    // A word on a stack that is no reference is nothing that was lost.
    builder.possible_root(RootKind::Local, Some("Main"), Address(0x9999)).unwrap();
    builder.interior_root(RootKind::PinnedLocal, Some("Main"), Address(0x1010)).unwrap();
    let graph = builder.finish().unwrap();
    assert_eq!(graph.losses().dangling_references, 2);
    assert_eq!(graph.losses().dangling_roots, 1);
    let references: Vec<Vec<usize>> =
        graph.nodes().map(|node| graph.references(node).map(NodeId::index).collect()).collect();
    assert_eq!(references, [vec![1, 0], vec![]]);
    assert_eq!(&*graph.type_info(its_type).name, "Type(0xabc)");
    let roots: Vec<_> = graph.roots().map(|(_, root)| (root.kind, root.name)).collect();
    assert_eq!(roots, [(RootKind::PinnedLocal, Some("Main"))]);
    assert_eq!(AddressIndex::new(&graph).find(Address(0x2000)), Some(node(&graph, 1)));
}

#[test]
fn a_word_that_may_be_a_reference_takes_nothing_away_from_other_roots() {
    let mut builder = GraphBuilder::new();
    let its_type = builder.add_type("A", None);
    for (at, references) in [(0x1000, 1), (0x2000, 0), (0x3000, 1), (0x4000, 0), (0x5000, 0)] {
        builder.object(Address(at), its_type, 24, references).unwrap();
    }
    builder.reference(Address(0x2000)).unwrap();
    builder.reference(Address(0x4000)).unwrap();
    builder.dependent_handle(Address(0x2000), Address(0x5000));
    builder.root(RootKind::StaticField, Some("A.all"), Address(0x1000)).unwrap();
    for word in [0x1000, 0x2008, 0x3000, 0x4000, 0x5000] {
        builder.possible_root(RootKind::Local, Some("Main"), Address(word)).unwrap();
    }
    let graph = builder.finish().unwrap();
    assert_eq!(graph.losses().dangling_roots, 0);
    let local = graph.roots().find(|(_, root)| root.kind == RootKind::Local).unwrap().1;
    assert_eq!(local.targets().map(NodeId::index).collect::<Vec<_>>(), [2, 3]);
    let dominators = Dominators::of(&graph);
    let field = graph.roots().find(|(_, root)| root.kind == RootKind::StaticField).unwrap().0;
    assert_eq!(dominators.retained_by_root(field), 72);
}

#[test]
fn lost_references_are_noticed() {
    let mut builder = GraphBuilder::new();
    let its_type = builder.add_type("A", None);
    builder.object(Address(0x1000), its_type, 24, 2).unwrap();
    builder.reference(Address(0x1000)).unwrap();
    assert!(matches!(builder.finish(), Err(Error::LostReferences { announced: 2, given: 1 })));
}

#[test]
fn dependent_handles_and_fields_keep_their_places() {
    let mut builder = GraphBuilder::new();
    let its_type = builder.add_type("A", None);
    for (address, references) in [(0x1000, 1), (0x2000, 0), (0x3000, 1), (0x4000, 0)] {
        builder.object(Address(address), its_type, 24, references).unwrap();
    }
    let field = builder.field("_next");
    builder.reference(Address(0x3000)).unwrap();
    builder.reference_by_field(Address(0x1000), field).unwrap();
    builder.dependent_handle(Address(0x1000), Address(0x2000));
    builder.dependent_handle(Address(0x3000), Address(0x4000));
    builder.dependent_handle(Address(0x1000), Address(0x4000));
    builder.dependent_handle(Address(0x1000), Address(0x7777));
    builder.root(RootKind::Other, None, Address(0x1000)).unwrap();
    let graph = builder.finish().unwrap();
    let references = |index: usize| {
        graph
            .references_with_fields(node(&graph, index))
            .map(|(to, field)| (to.index(), field.map(|field| graph.field_name(field))))
            .collect::<Vec<_>>()
    };
    assert_eq!(references(0), [(2, None), (1, None), (3, None)]);
    assert_eq!(references(1), []);
    assert_eq!(references(2), [(0, Some("_next")), (3, None)]);
    assert_eq!(graph.losses().dangling_references, 1);
}

#[test]
fn an_empty_heap_is_a_heap() {
    let graph = GraphBuilder::new().finish().unwrap();
    let dominators = Dominators::of(&graph);
    assert!(by_type(&graph, &dominators).is_empty());
    assert_eq!(dominators.reachable(), Totals::default());
}

#[test]
fn the_runtimes_root_kinds_and_flags_are_understood() {
    for (kind, flags, expected) in [
        (0, 0, Some(RootKind::Local)),
        (0, 1 | 4, Some(RootKind::PinnedLocal)),
        (2, 0, Some(RootKind::StrongHandle)),
        (2, 1, Some(RootKind::PinnedHandle)),
        (2, 2, None),
        (2, 8, Some(RootKind::RefCounted)),
        (1, 0, Some(RootKind::Finalizer)),
        (9, 0, Some(RootKind::Other)),
    ] {
        assert_eq!(RootKind::from_event(kind, flags), expected, "kind {kind}, flags {flags}");
    }
}

#[test]
fn every_object_has_its_place_in_the_tree_and_counts_below_those_above_it() {
    let graph = heap(
        &[
            ("List", 10, &[1]),
            ("Order[]", 20, &[2, 3]),
            ("Order", 5, &[4]),
            ("Order", 5, &[]),
            ("Name", 1, &[]),
            ("Dead", 9, &[]),
        ],
        &[(RootKind::StaticField, Some("Shop.all"), 0)],
    );
    let paths = ShortestPaths::of(&graph);
    let tree = PathTree::of(&graph, &paths);
    let seen: Vec<(u64, u64, Option<usize>)> =
        tree.places.iter().map(|place| (place.own.objects, place.with_below, place.above)).collect();
    assert_eq!(seen, [(0, 41, None), (1, 41, Some(0)), (1, 31, Some(1)), (2, 11, Some(2)), (1, 1, Some(3))]);
}

#[test]
fn a_value_that_hangs_on_its_key_is_told_from_a_field() {
    let mut builder = GraphBuilder::new();
    let its_type = builder.add_type("T", None);
    let nodes: Vec<_> = [8, 16, 24]
        .into_iter()
        .map(|at| builder.object(Address(at), its_type, 8, u32::from(at == 8)).expect("an object"))
        .collect();
    builder.reference(Address(16)).expect("a reference");
    builder.dependent_handle(Address(8), Address(24));
    let graph = builder.finish().expect("a graph");
    assert!(graph.is_dependent(nodes[0], nodes[2]) && !graph.is_dependent(nodes[0], nodes[1]));
}

#[test]
fn paths_from_lasting_roots_pass_by_running_methods() {
    // static A.a --> 0 --> 1 --> 2        a method is at 1, and at 4, which 3 holds; another at 3
    let graph = heap(
        &[
            ("Store", 1, &[1]),
            ("List", 1, &[2]),
            ("Item", 1, &[]),
            ("This", 1, &[4]),
            ("Array", 1, &[5]),
            ("File", 1, &[]),
        ],
        &[
            (STATIC, Some("A.a"), 0),
            (RootKind::Local, None, 1),
            (RootKind::Local, None, 4),
            (RootKind::Local, None, 3),
        ],
    );
    let lengths = |paths: &ShortestPaths| -> Vec<usize> {
        graph.nodes().map(|node| paths.path(node).map_or(0, |(_, steps)| steps.len())).collect()
    };
    assert_eq!(lengths(&ShortestPaths::of(&graph)), [1, 1, 2, 1, 1, 2]);
    assert_eq!(lengths(&ShortestPaths::from_lasting_roots(&graph)), [1, 2, 3, 1, 2, 3]);
}

#[test]
fn a_doubtful_root_counts_only_where_no_certain_one_leads() {
    let mut builder = GraphBuilder::new();
    let its_type = builder.add_type("T", None);
    // 1 -> 2 hang on a field; 3 -> 4 on a word of a stack alone.
    for (address, next) in [(0x10, 0x30), (0x30, 0), (0x50, 0x70), (0x70, 0)] {
        builder.object(Address(address), its_type, 24, u32::from(next != 0)).unwrap();
        if next != 0 {
            builder.reference(Address(next)).unwrap();
        }
    }
    builder.root(RootKind::StaticField, Some("T.f"), Address(0x10)).unwrap();
    for stale in [0x30, 0x38, 0x50, 0x9000] {
        builder.possible_root(RootKind::Local, Some("thread main"), Address(stale)).unwrap();
    }
    let graph = builder.finish().unwrap();
    assert_eq!(graph.losses().dangling_roots, 0);
    let dominators = Dominators::of(&graph);
    let nodes: Vec<NodeId> = graph.nodes().collect();
    assert_eq!(dominators.retained(nodes[0]), 48, "the stale words do not hold a part of it");
    assert_eq!(dominators.retained(nodes[2]), 48);
    assert_eq!(dominators.reachable().objects, 4);
}
