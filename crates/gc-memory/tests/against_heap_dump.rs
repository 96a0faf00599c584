//! What the runtime itself tells of its roots in a heap dump, against what is read from outside.

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeSet;

use heap_collector::{Wish, take};
use heap_graph::HeapGraph;
use support::{Patience, Subject};
use testbed::{Runtime, TargetBuilder, shared};

fn held(graph: &HeapGraph) -> BTreeSet<u64> {
    let targets = graph.roots().flat_map(|(_, root)| root.targets());
    targets.map(|node| graph.address(node).0).collect()
}

/// Nothing moves in a program that rests, but a thread may work for a moment: the dump is taken anew then.
fn every_root_is_found(builder: TargetBuilder<'_>) {
    let subject = Subject::start(builder);
    let wish = Wish { allow_pause: true, ..Wish::default() };
    let mut missing = Vec::new();
    for _ in 0..5 {
        let dump = take(&subject.process, &wish, &mut Patience).expect("a heap dump").graph;
        let outside = subject.still_heap();
        assert_eq!(outside.unnamed_types, 0);
        let ours = held(&outside.graph);
        missing.clear();
        for (_, root) in dump.roots() {
            let lost = root.targets().filter(|node| !ours.contains(&dump.address(*node).0));
            missing.extend(lost.map(|node| {
                let name = &dump.type_info(dump.type_of(node)).name;
                format!("{} {:?} {name} at {}", root.kind.label(), root.name, dump.address(node))
            }));
        }
        if missing.is_empty() {
            return;
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
    every_root_is_found(shared().target("healthy-vault", Runtime::Net9).env("DOTNET_gcServer", "1"));
}
