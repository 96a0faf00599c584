//! A program that holds known numbers of known things.

use std::collections::BTreeMap;

use gc_memory::{CoreHeap, HandleKind};
use heap_graph::{Generation, NodeId, RootKind};
use testbed::{Namespaces, Runtime, shared};

use heap_collector::Wish;

use crate::support::{Patience, Subject, types_at};

/// The runtimes that describe themselves well enough for a whole heap.
const DESCRIBED: [Runtime; 2] = [Runtime::Net9, Runtime::Net10];

fn vault(runtime: Runtime) -> Subject {
    Subject::start(shared().target("healthy-vault", runtime))
}

fn held_by(heap: &CoreHeap, kind: RootKind, name: &str) -> Vec<String> {
    let name_of = |node: NodeId| heap.graph.type_info(heap.graph.type_of(node)).name.to_string();
    let roots = heap.graph.roots().filter(|(_, root)| root.kind == kind);
    roots
        .filter(|(_, root)| root.name == Some(name))
        .flat_map(|(_, root)| root.targets())
        .map(name_of)
        .collect()
}

#[test]
fn handles_of_every_kind_are_counted_with_the_types_they_hold() {
    for runtime in DESCRIBED {
        let heap = vault(runtime).still_heap();
        let of_kind = |kind: HandleKind| {
            let handles = heap.roots.handles().iter().filter(move |handle| handle.kind == kind);
            types_at(&heap.graph, handles.map(|handle| handle.object))
        };
        let expected = [
            (HandleKind::Strong, "Vault.Coin", 100),
            (HandleKind::Pinned, "Vault.Grain[]", 30),
            (HandleKind::WeakShort, "Vault.Receipt", 40),
            (HandleKind::WeakLong, "Vault.Ledger", 20),
            (HandleKind::Dependent, "Vault.Key", 25),
        ];
        for (kind, name, count) in expected {
            let found = of_kind(kind);
            assert_eq!(found.get(name), Some(&count), "{runtime}: {kind:?}: {found:?}");
            assert_eq!(found.get("no object"), None, "{kind:?}: {found:?}");
        }
        let dependent = heap.roots.handles().iter().filter(|handle| handle.kind == HandleKind::Dependent);
        let values = types_at(&heap.graph, dependent.map(|handle| handle.dependent));
        assert_eq!(values.get("Vault.Secret"), Some(&25), "{values:?}");
        assert_eq!(heap.told.missing, Vec::<String>::new());
    }
}

#[test]
fn static_fields_locals_and_statics_of_threads_have_their_names() {
    for runtime in DESCRIBED {
        let heap = vault(runtime).still_heap();
        names_are_known(&heap);
    }
}

#[test]
fn names_are_known_in_a_container_where_threads_have_other_numbers() {
    if let Err(reason) = Namespaces::available() {
        eprintln!("skipped: {reason}");
        return;
    }
    let namespaces = Namespaces::PidAndMount { private_tmp: true };
    let builder = shared().target("healthy-vault", Runtime::Net9).namespaces(namespaces);
    names_are_known(&Subject::start(builder).still_heap());
}

fn names_are_known(heap: &CoreHeap) {
    let expected = [
        ("Vault.Room.s_keys", "Vault.Key[]"),
        ("Vault.Room.s_kept", "System.Collections.Generic.List<System.Object>"),
        ("Vault.Room.<Front>k__BackingField", "Vault.Door"),
        ("Vault.Room.s_spot", "Vault.Spot"),
    ];
    for (name, held) in expected {
        assert_eq!(held_by(heap, RootKind::StaticField, name), [held], "{name}");
    }
    // Of generic types that have no objects.
    for (name, elements) in [("Vault.Shelf<System.String>.Items", 3), ("Vault.Shelf<System.Int32>.Items", 4)]
    {
        let root = heap.graph.roots().find(|(_, root)| root.name == Some(name));
        let sizes = root.iter().flat_map(|(_, root)| root.targets()).map(|node| heap.graph.size(node));
        assert_eq!(sizes.collect::<Vec<_>>(), [24 + 8 * elements], "{name}");
    }
    assert_eq!(held_by(heap, RootKind::ThreadStaticField, "Vault.Clerk.t_desk"), ["Vault.Desk"; 3]);
    let locals = heap.graph.roots().filter(|(_, root)| root.kind == RootKind::Local);
    let lantern = locals.filter(|(_, root)| {
        let mut types = root.targets().map(|node| &*heap.graph.type_info(heap.graph.type_of(node)).name);
        types.any(|name| name == "Vault.Lantern")
    });
    let holders: Vec<&str> = lantern.filter_map(|(_, root)| root.name).collect();
    let is_named = |name: &&str| name.starts_with("thread keeper (") && name.ends_with("Vault.Keeper.Watch");
    assert!(holders.iter().any(is_named), "{holders:?}");
}

#[test]
fn the_whole_heap_lies_in_the_ranges_of_generations() {
    for runtime in DESCRIBED {
        let heap = vault(runtime).still_heap();
        assert!(heap.graph.node_count() > 1000, "{}", heap.graph.node_count());
        assert_eq!(heap.unnamed_types, 0);
        let mut objects = BTreeMap::<_, usize>::new();
        for node in heap.graph.nodes() {
            let generation = heap.graph.generation(node).expect("every object has one");
            *objects.entry(generation.label()).or_default() += 1;
        }
        assert!(objects.contains_key(Generation::Frozen.label()), "{objects:?}");
        assert_eq!(heap.graph.losses().dangling_references, 0);
        assert!(heap.layout.free.count < 1000, "{:?}", heap.layout.free);
        for range in &heap.layout.ranges {
            assert!(range.start <= range.end && range.end <= range.committed, "{range:x?}");
        }
    }
}

#[test]
fn older_runtimes_give_handles_and_ranges() {
    for (runtime, server) in [(Runtime::Net8, "0"), (Runtime::Net8, "1"), (Runtime::Net31, "0")] {
        let builder = shared().target("healthy-vault", runtime).env("DOTNET_gcServer", server);
        let subject = Subject::start(builder);
        let mut memory = subject.open();
        subject.target.suspend().unwrap();
        let raw = memory.read_roots(&[]);
        subject.target.resume().unwrap();
        let count = |kind| raw.handles().iter().filter(|handle| handle.kind == kind).count();
        assert!(count(HandleKind::Strong) >= 100, "{runtime}: {}", count(HandleKind::Strong));
        assert!(count(HandleKind::Pinned) >= 30, "{runtime}: {}", count(HandleKind::Pinned));
        assert!(count(HandleKind::WeakShort) >= 40, "{runtime}");
        assert!(count(HandleKind::WeakLong) >= 20, "{runtime}");
        assert!(count(HandleKind::Dependent) >= 25, "{runtime}");
        let outside = raw.handles().iter().filter(|handle| raw.heap().find(handle.object).is_none()).count();
        assert_eq!(outside, 0, "{runtime}: {:?}", raw.heap());
        assert!(raw.finalizer_queue().is_some(), "{runtime}");
    }
}

#[test]
fn objects_behind_a_blocked_finalizer_are_found() {
    for runtime in Runtime::ALL {
        let subject = Subject::start(shared().target("blocked-finalizer", runtime));
        let mut memory = subject.open();
        subject.target.suspend().unwrap();
        if DESCRIBED.contains(&runtime) {
            let heap = memory.graph_from_outside(&[]).expect("a graph");
            let ready = heap.roots.finalizer_queue().expect("a queue").ready.iter().copied();
            let types = types_at(&heap.graph, ready);
            assert!(types.get("Media.Surface").is_some_and(|count| *count > 0), "{types:?}");
            assert_eq!(types.get("no object"), None, "{types:?}");
        } else {
            let raw = memory.read_roots(&[]);
            assert!(!raw.finalizer_queue().expect("a queue").ready.is_empty(), "{runtime}");
        }
        subject.target.resume().unwrap();
    }
}

#[test]
fn a_process_that_ended_is_said_to_have_no_roots() {
    let subject = vault(Runtime::Net9);
    let mut memory = subject.open();
    subject.target.kill().unwrap();
    subject.target.wait_exit(std::time::Duration::from_secs(60)).unwrap();
    let raw = memory.read_roots(&[]);
    assert!(raw.handles().is_empty() && raw.finalizer_queue().is_none());
    let missing = raw.missing().join("; ");
    assert!(
        missing.contains("handles could not") && missing.contains("ranges of the heap could not"),
        "{missing}"
    );
    let mut builder = heap_graph::GraphBuilder::new();
    memory.tell(&raw, &mut builder).expect("nothing is told");
    let error = gc_memory::GcMemory::open(subject.pid()).expect_err("it is gone");
    assert!(error.to_string().contains("does not exist"), "{error}");
}

#[test]
fn objects_are_counted_while_the_program_runs() {
    for runtime in Runtime::ALL {
        let subject = Subject::start(shared().target("healthy-big-heap", runtime));
        let counted = subject.open().population().expect("a number");
        let graph =
            heap_collector::take(&subject.process, &Wish::default(), &mut Patience).expect("a heap").graph;
        let (told, about) = (graph.node_count() as u64, counted.objects);
        assert!(about >= told / 2 && about <= told * 2, "{runtime}: {about} counted, {told} there are");
        assert!(counted.bytes >= graph.total_size() / 2, "{runtime}: {counted:?}");
    }
}
