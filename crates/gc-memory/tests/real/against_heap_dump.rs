//! What the runtime itself tells of its roots in a heap dump, against what is read from outside.

use std::collections::BTreeSet;

use gc_memory::HeapLayout;
use heap_collector::{Wish, take};
use heap_graph::{HeapGraph, RootKind};
use testbed::{Runtime, TargetBuilder, shared};

use crate::support::{Patience, Subject};

fn held(graph: &HeapGraph) -> BTreeSet<u64> {
    let targets = graph.roots().flat_map(|(_, root)| root.targets());
    targets.map(|node| graph.address(node).0).collect()
}

/// Static fields that the dump names otherwise, or that hold something else.
fn other_statics(dump: &HeapGraph, ours: &HeapGraph) -> Vec<String> {
    let statics = |graph: &HeapGraph| -> BTreeSet<(String, u64)> {
        let roots = graph.roots().filter(|(_, root)| root.kind == RootKind::StaticField);
        let named = roots.filter_map(|(_, root)| Some((root.name?.to_owned(), root)));
        // `field: type` where the dump does not know whose field it is.
        let certain = named.filter(|(name, _)| !name.contains(": "));
        let held = certain.flat_map(|(name, root)| root.targets().map(move |node| (name.clone(), node)));
        held.map(|(name, node)| (name, graph.address(node).0)).collect()
    };
    let ours = statics(ours);
    let others = statics(dump).into_iter().filter(|it| !ours.contains(it));
    others.map(|(name, at)| format!("{name} at {at:#x} is another static field")).collect()
}

/// Nothing moves in a program that rests, but a thread may work for a moment: the dump is taken anew then.
fn every_root_is_found(builder: TargetBuilder<'_>) -> HeapLayout {
    let subject = Subject::start(builder);
    let wish = Wish { allow_pause: true, ..Wish::default() };
    let mut missing = Vec::new();
    for _ in 0..5 {
        let dump = take(&subject.process, &wish, &mut Patience).expect("a heap dump").graph;
        let outside = subject.still_heap();
        assert_eq!(outside.unnamed_types, 0);
        let ours = held(&outside.graph);
        missing.clear();
        // What was ready for its finalizer during the collection is finalized since.
        for (_, root) in dump.roots().filter(|(_, root)| root.kind != RootKind::Finalizer) {
            let lost = root.targets().filter(|node| !ours.contains(&dump.address(*node).0));
            missing.extend(lost.map(|node| {
                let name = &dump.type_info(dump.type_of(node)).name;
                format!("{} {:?} {name} at {}", root.kind.label(), root.name, dump.address(node))
            }));
        }
        missing.extend(other_statics(&dump, &outside.graph));
        if missing.is_empty() {
            return outside.layout;
        }
    }
    panic!("{} roots are not among ours: {missing:#?}", missing.len());
}

#[test]
fn every_root_of_a_heap_dump_is_found_from_outside() {
    every_root_is_found(shared().target("healthy-vault", Runtime::Net9));
}

#[test]
fn every_root_of_a_stranger_is_found_from_outside() {
    every_root_is_found(shared().stranger());
}

#[test]
fn every_root_with_the_server_collector_is_found_from_outside() {
    let builder = shared().target("healthy-vault", Runtime::Net9).env("DOTNET_gcServer", "1");
    let layout = every_root_is_found(builder);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(layout.is_server, processors > 1, "{layout:?}");
}
