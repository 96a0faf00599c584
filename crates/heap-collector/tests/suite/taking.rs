//! Heaps of real programs by every way that there is, against each other.

use std::collections::BTreeMap;
use std::time::Duration;

use discovery::{DotnetProcess, Options as Find, find};
use event_session::Going;
use heap_collector::{Collect, Error, Stage, Taken, Watch, Way, Wish, take, take_by_events};
use heap_graph::{Dominators, HeapGraph, RootKind};
use model::ProcessId;
use testbed::{Runtime, Target, TargetBuilder, shared};

/// Goes on to the end.
struct Patient;

impl Watch for Patient {
    fn look(&mut self, stage: &Stage) -> Going {
        std::thread::sleep(stage.slice);
        Going::On
    }
}

struct Subject {
    target: Target,
    process: DotnetProcess,
}

impl Subject {
    fn start(builder: TargetBuilder<'_>) -> Subject {
        let target = builder.start().expect("a target");
        let options = Find { timeout: Duration::from_secs(60) };
        let process = find(ProcessId(target.pid()), &options).expect("it is a .NET process");
        Subject { target, process }
    }

    fn leaking(runtime: Runtime) -> Subject {
        Subject::start(shared().target("leak-static-collection", runtime))
    }

    fn take(&self, collect: Collect) -> Taken {
        let wish = Wish { allow_pause: true, collect, ..Wish::default() };
        take(&self.process, &wish, &mut Patient)
            .unwrap_or_else(|error| panic!("{}: {error}", self.target.runtime()))
    }
}

/// Objects, bytes and references of the live objects of each type of the program itself.
fn own_types(graph: &HeapGraph) -> BTreeMap<String, (u64, u64, u64)> {
    let mut found: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    let dominators = Dominators::of(graph);
    for node in graph.nodes().filter(|node| dominators.is_reachable(*node)) {
        let info = graph.type_info(graph.type_of(node));
        if info.module.as_deref().is_some_and(|module| module.ends_with("Patients.dll")) {
            let row = found.entry(info.name.to_string()).or_default();
            row.0 += 1;
            row.1 += graph.size(node);
            row.2 += graph.references(node).len() as u64;
        }
    }
    found
}

fn is_whole(taken: &Taken) {
    let losses = taken.graph.losses();
    assert_eq!((losses.dangling_references, losses.repeated_addresses), (0, 0), "{losses:?}");
    assert_eq!(taken.unnamed_types, 0);
    assert!(taken.pause.is_some_and(|pause| !pause.total.is_zero()));
    assert!(!taken.graph.generations().is_empty());
}

#[test]
fn all_ways_tell_the_same_of_a_program_that_does_not_change() {
    for runtime in [Runtime::Net8, Runtime::Net9, Runtime::Net10] {
        let subject = Subject::start(shared().target("known-heap", runtime));
        let first = subject.take(Collect::WhenNeeded);
        let by_agent = subject.take(Collect::Always);
        let wish = Wish { allow_pause: true, ..Wish::default() };
        let by_socket = take_by_events(&subject.process, &wish, &mut Patient).expect("a heap");
        let expected = if runtime == Runtime::Net8 { Way::AgentEvents } else { Way::Walk };
        assert_eq!((first.way, by_agent.way, by_socket.way), (expected, Way::AgentEvents, Way::Events));
        assert_eq!((first.garbage, by_agent.garbage), (expected == Way::Walk, false), "{runtime}");
        assert_eq!((first.collections, by_agent.collections), (u32::from(!first.garbage), 1), "{runtime}");
        let own = own_types(&by_socket.graph);
        assert!(own.len() > 5, "{runtime}: {own:?}");
        for taken in [&first, &by_agent, &by_socket] {
            is_whole(taken);
            assert_eq!(own_types(&taken.graph), own, "{runtime}: {:?}", taken.way);
        }
    }
}

#[test]
fn a_walk_knows_the_roots_by_name_and_makes_no_collection() {
    let subject = Subject::leaking(Runtime::Net9);
    let taken = subject.take(Collect::WhenNeeded);
    is_whole(&taken);
    assert_eq!((taken.way, taken.collections), (Way::Walk, 0), "{:?}", taken.missing);
    let graph = taken.graph;
    let field = graph.roots().find(|(_, root)| {
        root.kind == RootKind::StaticField && root.name == Some("Shop.OrderHistory.s_orders")
    });
    let (_, field) = field.expect("the field that holds it");
    let list = field.targets().next().expect("what it holds");
    let name = &*graph.type_info(graph.type_of(list)).name;
    assert_eq!(name, "System.Collections.Generic.List<Shop.Order>");
    let local = graph.roots().filter(|(_, root)| root.kind == RootKind::Local);
    let names: Vec<&str> = local.filter_map(|(_, root)| root.name).collect();
    assert!(names.iter().any(|name| name.starts_with("thread ") && name.contains(", ")), "{names:?}");
    assert!(graph.nodes().all(|node| graph.generation(node).is_some()), "some lie in no generation");
    assert!(subject.target.is_alive());
}

#[test]
fn a_stranger_tells_its_heap_by_a_walk() {
    let subject = Subject::start(shared().stranger());
    let taken = subject.take(Collect::WhenNeeded);
    is_whole(&taken);
    assert_eq!(taken.way, Way::Walk, "{:?}", taken.missing);
    let live = Dominators::of(&taken.graph).reachable();
    assert!(live.objects > 10_000, "{live:?}");
    assert!(subject.target.is_alive());
}

#[test]
fn where_no_agent_can_come_events_are_taken_and_it_is_said() {
    let builder = shared().target("leak-static-collection", Runtime::Net9);
    let subject = Subject::start(builder.env("DOTNET_EnableDiagnostics_Profiler", "0"));
    let taken = subject.take(Collect::WhenNeeded);
    assert_eq!((taken.way, taken.collections, taken.garbage), (Way::Events, 1, false));
    let said = taken.missing.join("\n");
    assert!(said.contains("DOTNET_EnableDiagnostics_Profiler"), "{said}");
}

#[test]
fn the_oldest_runtime_tells_its_heap_by_events() {
    let subject = Subject::leaking(Runtime::Net31);
    let taken = subject.take(Collect::WhenNeeded);
    is_whole(&taken);
    assert_eq!((taken.way, taken.collections), (Way::Events, 1));
}

#[test]
fn a_user_who_stops_gets_no_heap() {
    struct Impatient;

    impl Watch for Impatient {
        fn look(&mut self, _: &Stage) -> Going {
            Going::Stop
        }
    }

    let subject = Subject::start(shared().target("long-gc-pauses", Runtime::Net9).arg("objects=2000000"));
    let wish = Wish { allow_pause: true, ..Wish::default() };
    match take(&subject.process, &wish, &mut Impatient) {
        // A heap that was told before anybody was asked is one.
        Err(Error::Cancelled) | Ok(_) => {}
        Err(error) => panic!("{error}"),
    }
    assert!(subject.target.is_alive());
    assert_eq!(subject.take(Collect::WhenNeeded).way, Way::Walk);
}

/// The .NET 8 of these tests is a single-file program: its framework lies in its executable.
#[test]
fn static_fields_of_a_single_file_program_have_their_types() {
    let subject = Subject::leaking(Runtime::Net8);
    for taken in [subject.take(Collect::WhenNeeded), events_of(&subject)] {
        let names: Vec<String> = taken
            .graph
            .roots()
            .filter(|(_, root)| root.kind == RootKind::StaticField)
            .filter_map(|(_, root)| root.name.map(str::to_owned))
            .collect();
        assert!(names.iter().any(|name| name == "Shop.OrderHistory.s_orders"), "{names:?}");
        assert!(names.iter().any(|name| name == "System.AppContext.s_dataStore"), "{names:?}");
        let unowned = names.iter().filter(|name| name.contains(": ")).count();
        assert!(unowned * 2 < names.len(), "{unowned} of {}: {names:?}", names.len());
    }
}

fn events_of(subject: &Subject) -> Taken {
    let wish = Wish { allow_pause: true, ..Wish::default() };
    take_by_events(&subject.process, &wish, &mut Patient).expect("a heap")
}
