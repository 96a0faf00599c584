//! What the runtime itself tells of its roots in a heap dump, against what is read from outside.

use std::collections::{BTreeSet, HashMap};

use gc_memory::HeapLayout;
use heap_collector::{Options, ProcessFiles, collect};
use heap_graph::{Dominators, HeapGraph, NodeId, RootKind};
use process_view::Process;
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

/// Objects of the dump that are not the same when they are walked to from outside.
fn other_objects(dump: &HeapGraph, ours: &HeapGraph) -> Vec<String> {
    let by_address: HashMap<u64, _> = ours.nodes().map(|node| (ours.address(node).0, node)).collect();
    let look = |graph: &HeapGraph, node: NodeId| {
        let mut references: Vec<u64> = graph.references(node).map(|to| graph.address(to).0).collect();
        references.sort_unstable();
        let name = graph.type_info(graph.type_of(node)).name.to_string();
        (name, graph.size(node).next_multiple_of(8), references)
    };
    let others = dump.nodes().filter_map(|node| {
        let at = dump.address(node).0;
        let (theirs, ours) = (look(dump, node), by_address.get(&at).map(|node| look(ours, *node)));
        // The dump leaves out the types around a type.
        let is_same = ours.as_ref().is_some_and(|(name, bytes, references)| {
            name.ends_with(&theirs.0) && (*bytes, references) == (theirs.1, &theirs.2)
        });
        (!is_same).then(|| format!("{at:#x}: {theirs:x?} is {ours:x?} from outside"))
    });
    others.collect()
}

/// Nothing moves in a program that rests, but a thread may work for a moment: the dump is taken anew then.
fn every_root_is_found(builder: TargetBuilder<'_>) -> HeapLayout {
    let subject = Subject::start(builder);
    let client = subject.process.client().expect("a socket");
    let files = ProcessFiles::of(Process::new(subject.pid()));
    let mut missing = Vec::new();
    for _ in 0..10 {
        let dump = collect(&client, &Options::default(), &files, &mut Patience).expect("a heap dump").graph;
        let outside = subject.still_heap();
        assert_eq!(outside.unnamed_types, 0);
        let ours = held(&outside.graph);
        let dominators = Dominators::of(&outside.graph);
        let alive = outside.graph.nodes().filter(|&node| dominators.is_reachable(node));
        let alive: BTreeSet<u64> = alive.map(|node| outside.graph.address(node).0).collect();
        missing.clear();
        // What was ready for its finalizer during the collection is finalized since.
        for (_, root) in dump.roots().filter(|(_, root)| root.kind != RootKind::Finalizer) {
            // A local is not told again where another root leads to its object anyway.
            let known =
                if matches!(root.kind, RootKind::Local | RootKind::PinnedLocal) { &alive } else { &ours };
            let lost = root.targets().filter(|node| !known.contains(&dump.address(*node).0));
            missing.extend(lost.map(|node| {
                let name = &dump.type_info(dump.type_of(node)).name;
                format!("{} {:?} {name} at {}", root.kind.label(), root.name, dump.address(node))
            }));
        }
        missing.extend(other_statics(&dump, &outside.graph));
        missing.extend(other_objects(&dump, &outside.graph));
        if missing.is_empty() {
            return outside.layout;
        }
    }
    panic!("{} roots are not among ours: {missing:#?}", missing.len());
}

#[test]
fn every_root_of_a_heap_dump_is_found_from_outside() {
    for runtime in [Runtime::Net9, Runtime::Net10] {
        every_root_is_found(shared().target("healthy-vault", runtime));
    }
}

#[test]
fn every_root_of_a_stranger_is_found_from_outside() {
    every_root_is_found(shared().stranger());
}

#[test]
fn every_root_with_the_server_collector_is_found_from_outside() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    for runtime in [Runtime::Net9, Runtime::Net10] {
        let builder = shared().target("healthy-vault", runtime).env("DOTNET_gcServer", "1");
        let layout = every_root_is_found(builder);
        assert_eq!(layout.is_server, processors > 1, "{runtime}: {layout:?}");
    }
}

#[test]
fn every_root_with_a_collector_of_its_own_library_and_segments_is_found_from_outside() {
    let builder = shared().target("healthy-vault", Runtime::Net9).env("DOTNET_GCName", "libclrgc.so");
    let layout = every_root_is_found(builder);
    assert!(!layout.has_regions, "{layout:?}");
}
