//! The heaps of real programs on real runtimes.

use std::time::Duration;

use diagnostics_ipc::Client;
use discovery::{Options as Find, find};
use event_session::Going;
use heap_collector::{Assemblies, Collected, Error, Options, Stage, Watch, collect};
use heap_graph::{Dominators, HeapGraph, RootKind};
use model::ProcessId;
use process_view::Process;
use testbed::{Runtime, Target, TargetBuilder, shared};

const EVERY: [Runtime; 4] = [Runtime::Net31, Runtime::Net8, Runtime::Net9, Runtime::Net10];

struct Subject {
    target: Target,
    client: Client,
}

struct Files(Process);

impl Assemblies for Files {
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.0.read_file(path.as_ref(), 256 << 20).ok()
    }
}

/// Goes on to the end.
struct Patient;

impl Watch for Patient {
    fn look(&mut self, stage: &Stage) -> Going {
        std::thread::sleep(stage.slice);
        Going::On
    }
}

/// Does something at the first look.
struct Once<F: FnMut() -> Going>(F);

impl<F: FnMut() -> Going> Watch for Once<F> {
    fn look(&mut self, stage: &Stage) -> Going {
        std::thread::sleep(stage.slice);
        self.0()
    }
}

impl Subject {
    fn start(builder: TargetBuilder<'_>) -> Subject {
        let target = builder.start().expect("a target");
        let options = Find { timeout: Duration::from_secs(60) };
        let process = find(ProcessId(target.pid()), &options).expect("it is a .NET process");
        Subject { client: process.client().expect("it has a socket"), target }
    }

    fn leaking(runtime: Runtime) -> Subject {
        Subject::start(shared().target("leak-static-collection", runtime))
    }

    fn files(&self) -> Files {
        Files(Process::new(ProcessId(self.target.pid())))
    }

    fn collect(&self) -> Collected {
        collect(&self.client, &Options::default(), &self.files(), &mut Patient)
            .unwrap_or_else(|error| panic!("{}: {error}", self.target.runtime()))
    }
}

fn count(graph: &HeapGraph, name: &str) -> usize {
    let types: Vec<_> = graph.types_named(name).collect();
    graph.nodes().filter(|&node| types.contains(&graph.type_of(node))).count()
}

#[test]
fn the_heap_of_a_leaking_program_names_the_field_that_holds_it() {
    for runtime in Runtime::ALL {
        let subject = Subject::leaking(runtime);
        let heap = subject.collect();
        assert_eq!(heap.unnamed_types, 0, "{runtime}");
        let mut graph = heap.graph;
        let orders = count(&graph, "Shop.Order");
        assert!(orders >= 7000, "{runtime}: {orders}");
        assert_eq!(count(&graph, "System.Collections.Generic.List<Shop.Order>"), 1, "{runtime}");
        let total = graph.total_size();
        // With the runtime's own tables, the field holds next to nothing alone.
        graph.cut_statics_tables();
        let dominators = Dominators::of(&graph);
        let field = graph.roots().find(|(_, root)| {
            root.kind == RootKind::StaticField && root.name == Some("Shop.OrderHistory.s_orders")
        });
        let (id, _) = field.unwrap_or_else(|| panic!("{runtime}: no such root"));
        let held = dominators.retained_by_root(id);
        assert!(held > total / 10 * 9, "{runtime}: {held} of {total}");
        let pause = heap.pause.unwrap_or_else(|| panic!("{runtime}: the pause was not told"));
        assert!(!pause.total.is_zero() && pause.collecting <= pause.total, "{runtime}: {pause:?}");
    }
}

#[test]
fn a_second_collection_has_every_name_again_and_the_program_goes_on() {
    for runtime in EVERY {
        let subject = match runtime {
            Runtime::Net10 => Subject::start(shared().stranger()),
            _ => Subject::leaking(runtime),
        };
        let first = subject.collect();
        let second = subject.collect();
        assert_eq!((first.unnamed_types, second.unnamed_types), (0, 0), "{runtime}");
        let live = |heap: &Collected| Dominators::of(&heap.graph).reachable().objects;
        let (before, after) = (live(&first), live(&second));
        assert!(before > 1000 && after > before / 2, "{runtime}: {before}, {after}");
        assert!(subject.target.is_alive(), "{runtime}");
        if runtime != Runtime::Net31 {
            subject.client.process_info().unwrap_or_else(|error| panic!("{runtime}: {error}"));
        }
    }
}

#[test]
fn a_user_who_stops_gets_no_heap_and_leaves_a_healthy_program() {
    for runtime in [Runtime::Net31, Runtime::Net9] {
        let subject = Subject::leaking(runtime);
        let outcome =
            collect(&subject.client, &Options::default(), &subject.files(), &mut Once(|| Going::Stop));
        assert!(matches!(outcome, Err(Error::Cancelled)), "{runtime}: {outcome:?}");
        assert!(subject.target.is_alive(), "{runtime}");
        assert_eq!(subject.collect().unnamed_types, 0, "{runtime}");
    }
}

#[test]
fn a_program_that_ends_in_the_middle_is_told_as_such() {
    let subject = Subject::leaking(Runtime::Net9);
    let mut watch = Once(|| {
        let _ = subject.target.kill();
        Going::On
    });
    let outcome = collect(&subject.client, &Options::default(), &subject.files(), &mut watch);
    // A heap this small may have come whole before the first look.
    match outcome {
        Err(
            Error::TargetExited | Error::Ipc(_) | Error::Damaged(_) | Error::Incomplete(_) | Error::NoHeap,
        )
        | Ok(_) => {}
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn events_that_are_lost_make_no_graph() {
    // Far too little room for a hundred thousand objects, whatever the machine does.
    let subject = Subject::start(shared().target("long-gc-pauses", Runtime::Net9).arg("objects=400000"));
    let options = Options { buffer_mb: 1, ..Options::default() };
    let outcome = collect(&subject.client, &options, &subject.files(), &mut Patient);
    match outcome {
        Err(Error::Incomplete(missing)) => {
            assert!(!missing.is_nothing());
            assert!(
                missing.to_string().contains("missing") || missing.to_string().contains("dropped"),
                "{missing}"
            );
        }
        // A reader that keeps up loses nothing.
        Ok(heap) => assert!(count(&heap.graph, "Posting") > 100_000),
        Err(other) => panic!("{other:?}"),
    }
    // With room, the same program gives its whole heap.
    let heap = subject.collect();
    assert!(heap.graph.node_count() > 400_000, "{}", heap.graph.node_count());
    assert_eq!(heap.graph.losses().dangling_references, 0);
}

#[test]
fn a_program_that_is_stopped_by_a_signal_is_given_up_and_lives_on() {
    let subject = Subject::leaking(Runtime::Net9);
    let mut once = false;
    let mut watch = Once(|| {
        if !once {
            once = true;
            subject.target.suspend().expect("a signal");
        }
        Going::On
    });
    let options = Options { patience: Duration::from_secs(2), ..Options::default() };
    let outcome = collect(&subject.client, &options, &subject.files(), &mut watch);
    subject.target.resume().expect("a signal");
    // It may have been done before the signal came.
    assert!(
        matches!(outcome, Err(Error::Silent(_) | Error::Ipc(_) | Error::Incomplete(_)) | Ok(_)),
        "{outcome:?}"
    );
    assert!(subject.target.is_alive());
    // The runtime ends the session that was given up in its own time; a heap that is asked for meanwhile may come with
    // holes, which is said. The first one that is whole has all names.
    let whole = (0..20).find_map(|_| {
        match collect(&subject.client, &Options::default(), &subject.files(), &mut Patient) {
            Err(Error::Silent(_) | Error::Incomplete(_)) => None,
            outcome => Some(outcome.expect("a heap")),
        }
    });
    assert_eq!(whole.expect("a whole heap in twenty").unnamed_types, 0);
}
