//! Heaps of core dumps, against what the program holds.

use std::path::Path;
use std::time::Duration;

use core_dumps::{DumpKind, Place, Wish, write};
use gc_memory::{Error, HandleKind, graph_of_core};
use heap_graph::{HeapGraph, RootKind};
use process_view::Process;
use testbed::{Runtime, TargetBuilder, shared};

use crate::support::{Subject, types_at};
use crate::written_core;

fn dumped(builder: TargetBuilder<'_>, kind: DumpKind, folder: &Path) -> std::path::PathBuf {
    let subject = Subject::start(builder);
    let path = folder.join("core");
    let place = Place::new(&Process::new(subject.pid()), Some(&path), "core_default").expect("a place");
    let wish = Wish { kind, log: false, crash_report: false, timeout: Duration::from_secs(300) };
    let client = subject.process.client().expect("a socket");
    write(&subject.process, &client, &place, &wish, |_| {}).expect("a dump");
    path
}

fn count(graph: &HeapGraph, name: &str) -> usize {
    let types: Vec<_> = graph.types_named(name).collect();
    graph.nodes().filter(|&node| types.contains(&graph.type_of(node))).count()
}

#[test]
fn the_heap_of_a_dump_has_the_objects_and_roots_of_the_program() {
    let on_9_and_10 =
        [Runtime::Net9, Runtime::Net10].map(|runtime| [(runtime, DumpKind::Full), (runtime, DumpKind::Heap)]);
    for (runtime, kind) in on_9_and_10.into_iter().flatten() {
        let folder = tempfile::tempdir().expect("a folder");
        let core = dumped(shared().target("healthy-vault", runtime), kind, folder.path());
        let heap = graph_of_core(&core).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert_eq!(heap.unnamed_types, 0, "{kind:?}");
        assert_eq!(heap.told.missing, Vec::<String>::new(), "{kind:?}");
        assert_eq!(heap.graph.losses().dangling_references, 0, "{kind:?}");
        for (name, expected) in
            [("Vault.Coin", 100), ("Vault.Key", 25), ("Vault.Secret", 25), ("Vault.Desk", 3)]
        {
            assert_eq!(count(&heap.graph, name), expected, "{kind:?}: {name}");
        }
        let pinned = heap.roots.handles().iter().filter(|handle| handle.kind == HandleKind::Pinned);
        let pinned = types_at(&heap.graph, pinned.map(|handle| handle.object));
        assert_eq!(pinned.get("Vault.Grain[]"), Some(&30), "{kind:?}: {pinned:?}");
        let names: Vec<&str> = heap.graph.roots().filter_map(|(_, root)| root.name).collect();
        for name in ["Vault.Room.s_keys", "Vault.Clerk.t_desk"] {
            assert!(names.contains(&name), "{kind:?}: {name}");
        }
        let is_keeper =
            |name: &&str| name.starts_with("thread keeper (") && name.ends_with(", Vault.Keeper.Watch");
        assert!(names.iter().any(is_keeper), "{kind:?}: {names:?}");
    }
}

#[test]
fn the_heap_of_a_strangers_dump_is_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let core = dumped(shared().stranger(), DumpKind::Full, folder.path());
    let heap = graph_of_core(&core).expect("a heap");
    assert!(heap.graph.node_count() > 10_000, "{}", heap.graph.node_count());
    assert_eq!((heap.unnamed_types, heap.graph.losses().dangling_references), (0, 0));
    let statics = heap.graph.roots().filter(|(_, root)| root.kind == RootKind::StaticField).count();
    assert!(statics > 500, "{statics}");
}

#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let mini = dumped(shared().target("healthy-vault", Runtime::Net9), DumpKind::Mini, folder.path());
    let error = graph_of_core(&mini).expect_err("no heap in it");
    assert!(error.to_string().contains("of kind Full"), "{error}");
    let text = folder.path().join("text");
    std::fs::write(
        &text,
        "no dump at all, but longer than the head of one would have to be, so that it is looked at",
    )
    .expect("it is written");
    for path in [text.as_path(), Path::new("/dev/zero"), &folder.path().join("none"), folder.path()] {
        let error = graph_of_core(path).expect_err("no dump");
        assert!(matches!(error, Error::File(_)), "{}: {error}", path.display());
    }
}

#[test]
fn dumps_of_older_runtimes_are_refused_as_such() {
    for runtime in [Runtime::Net8, Runtime::Net31] {
        let subject = Subject::start(shared().target("healthy-idle-service", runtime));
        let folder = tempfile::tempdir().expect("a folder");
        let core = folder.path().join("core");
        subject.target.suspend().expect("it is stopped");
        let program = std::fs::read_link(format!("/proc/{}/exe", subject.pid())).expect("a program");
        written_core::write(subject.pid(), &core, |path| path == program || path.ends_with("libcoreclr.so"));
        subject.target.resume().expect("it goes on");
        let error = graph_of_core(&core).expect_err("too old");
        let text = error.to_string();
        assert!(matches!(error, Error::Core { .. }) && text.contains(".NET 8 or older"), "{runtime}: {text}");
    }
}

#[test]
fn a_dump_that_was_cut_does_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let core = dumped(shared().target("healthy-vault", Runtime::Net9), DumpKind::Heap, folder.path());
    let length = std::fs::metadata(&core).expect("it is there").len();
    let file = std::fs::OpenOptions::new().write(true).open(&core).expect("it opens");
    for eighths in (0..8).rev() {
        file.set_len(length * eighths / 8).expect("it is cut");
        if let Ok(heap) = graph_of_core(&core) {
            assert!(!heap.told.missing.is_empty() || eighths > 5, "{eighths}: {:?}", heap.told);
        }
    }
}
