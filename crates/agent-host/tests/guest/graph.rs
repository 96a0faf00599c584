//! The whole heap, told by the agent.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::time::Duration;

use agent_host::{
    AgentError, Attached, EventReader, GraphOrder, GraphSink, GraphWay, HeapTold, ObjectSink, Stage,
    ToldObject,
};
use testbed::Runtime;

use crate::killed::host;
use crate::memory::{forget_peak, peak};
use crate::support::{Guest, LONG};

/// Objects that do not fit into the shared memory all at once.
const MANY: &str = "objects=400000";

/// Counts, and remembers what each reference leads to.
#[derive(Default)]
pub struct Counting {
    objects: u64,
    references: u64,
    by_class: HashMap<u64, u64>,
    addresses: Vec<u64>,
    targets: Vec<u64>,
    keeps: bool,
}

impl Counting {
    /// References that lead to no object. Every object was told once, frozen ones included.
    fn lost(&self) -> usize {
        let mut addresses = self.addresses.clone();
        addresses.sort_unstable();
        assert!(addresses.is_sorted_by(|one, other| one < other), "an object was told twice");
        self.targets.iter().filter(|target| addresses.binary_search(target).is_err()).count()
    }
}

impl ObjectSink for Counting {
    fn object(&mut self, object: ToldObject) -> bool {
        self.objects += 1;
        *self.by_class.entry(object.class).or_default() += 1;
        if self.keeps {
            self.addresses.push(object.address);
        }
        true
    }

    fn reference(&mut self, target: u64) -> bool {
        self.references += 1;
        if self.keeps {
            self.targets.push(target);
        }
        true
    }
}

impl GraphSink for Counting {
    fn goes_on(&mut self, _: u64) -> bool {
        true
    }
}

pub fn order(way: GraphWay) -> GraphOrder {
    GraphOrder { way, longest: Duration::from_secs(60), look: Duration::from_secs(20), most_bytes: 8 << 30 }
}

fn told(attached: &mut Attached, sink: &mut Counting) -> Result<HeapTold<usize>, AgentError> {
    attached.heap_graph(&order(GraphWay::Walk), sink, |threads| threads.len())
}

#[test]
fn a_walk_tells_every_object_and_where_each_reference_leads() {
    for runtime in [Runtime::Net9, Runtime::Net10] {
        let guest = Guest::of("leak-static-collection", runtime);
        let mut attached = guest.attach().expect("the agent comes");
        let mut sink = Counting { keeps: true, ..Counting::default() };
        let heap = told(&mut attached, &mut sink).expect("a heap");
        println!(
            "{runtime}: {} objects, {} references, {:?}, {:?}, {} types",
            sink.objects,
            sink.references,
            heap.pause,
            heap.end,
            heap.types.len()
        );
        assert!(heap.end.looked && heap.looked == Some(heap.threads.len()));
        assert!(
            heap.threads.iter().any(|thread| thread.os == guest.target.pid() && !thread.frames.is_empty())
        );
        assert_eq!(heap.left_out, 0);
        assert_eq!(sink.lost(), 0, "{runtime}: of {}", sink.references);
        // Every type has a name.
        let names: HashMap<u64, &str> = heap.types.iter().map(|it| (it.id, it.name.as_str())).collect();
        let unnamed: Vec<_> = sink.by_class.keys().filter(|class| !names.contains_key(class)).collect();
        assert_eq!(unnamed.len(), 0, "{runtime}");
        // What the runtime says itself, a moment later.
        let types = attached.heap_types(Vec::new()).expect("types");
        let text = types.types.iter().find(|found| found.name == "System.String").expect("text");
        let seen = sink.by_class[&text.id];
        assert!(seen.abs_diff(text.count) < 5000, "{runtime}: {seen} and {}", text.count);
        assert!(attached.leave().expect("it leaves").confirmed);
        assert!(guest.target.is_alive());
    }
}

#[test]
fn older_runtimes_refuse_a_walk_and_live_on() {
    for runtime in [Runtime::Net31, Runtime::Net8] {
        let guest = Guest::quiet(runtime);
        let mut attached = guest.attach().expect("the agent comes");
        let outcome = told(&mut attached, &mut Counting::default());
        assert!(matches!(outcome, Err(AgentError::Refused { stage: Stage::Heap, .. })), "{outcome:?}");
        assert!(!attached.threads().expect("threads").threads.is_empty());
        assert!(attached.leave().expect("it leaves").confirmed);
    }
}

#[test]
fn a_heap_that_changes_all_the_time_is_told_as_it_is_at_one_instant() {
    let guest = Guest::busy(Runtime::Net9, &["dishes=4000", "cleanings=20"]);
    let mut attached = guest.attach().expect("the agent comes");
    for round in 0..10 {
        let mut sink = Counting { keeps: true, ..Counting::default() };
        let heap = told(&mut attached, &mut sink).expect("a heap");
        assert_eq!((heap.end.objects, heap.end.references), (sink.objects, sink.references));
        assert_eq!(sink.lost(), 0, "round {round}: of {}", sink.references);
    }
    assert!(attached.leave().expect("it leaves").confirmed);
    guest.still_works();
}

/// Does something at its first object.
struct AtFirst<F>(Option<F>);

impl<F: FnOnce() -> bool> ObjectSink for AtFirst<F> {
    fn object(&mut self, _: ToldObject) -> bool {
        self.0.take().is_none_or(|deed| deed())
    }

    fn reference(&mut self, _: u64) -> bool {
        true
    }
}

impl<F: FnOnce() -> bool> GraphSink for AtFirst<F> {
    fn goes_on(&mut self, _: u64) -> bool {
        true
    }
}

fn large(runtime: Runtime) -> Guest {
    let folder = crate::support::temp_folder();
    let builder = testbed::shared().target("long-gc-pauses", runtime).tmpdir(folder.path()).arg(MANY);
    Guest::started(builder, folder, "")
}

#[test]
fn a_host_that_does_not_read_stops_the_target_for_a_short_time_only() {
    let guest = large(Runtime::Net9);
    let mut attached = guest.attach().expect("the agent comes");
    // This is the illness: far longer than the agent waits.
    let mut sink = AtFirst(Some(|| {
        std::thread::sleep(Duration::from_secs(3));
        true
    }));
    let outcome = attached.heap_graph(&order(GraphWay::Walk), &mut sink, |_| ());
    assert!(matches!(outcome, Err(AgentError::Refused { stage: Stage::Stalled, .. })), "{outcome:?}");
    // It answers on, and the next heap is whole.
    assert!(told(&mut attached, &mut Counting::default()).expect("a heap").end.objects > 400_000);
    assert!(attached.leave().expect("it leaves").confirmed);
    guest.still_works();
}

#[test]
fn a_host_that_wants_no_more_gets_no_heap() {
    let guest = large(Runtime::Net9);
    let mut attached = guest.attach().expect("the agent comes");
    let mut sink = AtFirst(Some(|| false));
    let outcome = attached.heap_graph(&order(GraphWay::Walk), &mut sink, |_| ());
    assert!(matches!(outcome, Err(AgentError::Refused { stage: Stage::Stopped, .. })), "{outcome:?}");
    assert!(attached.leave().expect("it leaves").confirmed);
    guest.still_works();
}

#[test]
fn a_target_may_stand_still_no_longer_than_it_may() {
    let guest = large(Runtime::Net9);
    let mut attached = guest.attach().expect("the agent comes");
    let short = GraphOrder { longest: Duration::from_millis(1), ..order(GraphWay::Walk) };
    let outcome = attached.heap_graph(&short, &mut Counting::default(), |_| ());
    assert!(matches!(outcome, Err(AgentError::Refused { stage: Stage::TooLong, .. })), "{outcome:?}");
    assert!(attached.leave().expect("it leaves").confirmed);
    guest.still_works();
}

#[test]
fn a_look_that_takes_too_long_is_not_waited_for_and_that_is_said() {
    let guest = large(Runtime::Net9);
    let mut attached = guest.attach().expect("the agent comes");
    let short = GraphOrder { look: Duration::from_millis(10), ..order(GraphWay::Walk) };
    // This is the illness: far longer than the agent waits.
    let slow = |_: &[agent_host::ThreadFrames]| std::thread::sleep(Duration::from_secs(2));
    let heap = attached.heap_graph(&short, &mut Counting::default(), slow).expect("a heap");
    assert!(!heap.end.looked && heap.looked.is_some());
    assert!(heap.pause.suspended < Duration::from_secs(2), "{:?}", heap.pause);
    assert!(attached.leave().expect("it leaves").confirmed);
}

#[test]
fn a_target_that_is_killed_in_the_middle_gives_no_heap() {
    let guest = large(Runtime::Net9);
    let mut attached = guest.attach().expect("the agent comes");
    let kill = |_: &[agent_host::ThreadFrames]| guest.target.kill().is_ok();
    let outcome = attached.heap_graph(&order(GraphWay::Walk), &mut Counting::default(), kill);
    assert!(matches!(outcome, Err(AgentError::Lost { .. } | AgentError::Left { .. })), "{outcome:?}");
}

#[test]
fn a_host_that_is_killed_in_the_middle_leaves_a_healthy_target() {
    let guest = large(Runtime::Net9);
    for _ in 0..5 {
        let mut host = host(&guest, "heap");
        let mut output = BufReader::new(host.stdout.take().expect("a pipe")).lines();
        let telling = output.by_ref().map_while(Result::ok).any(|line| line == "telling");
        assert!(telling, "it tells the heap");
        host.kill().expect("killed");
        host.wait().expect("ended");
        guest.wait_until_alone();
        guest.still_works();
    }
    guest.can_be_visited();
}

/// Counts events.
#[derive(Default)]
struct Events {
    reader: EventReader,
    lists_of_objects: u64,
}

impl ObjectSink for Events {
    fn object(&mut self, _: ToldObject) -> bool {
        false
    }

    fn reference(&mut self, _: u64) -> bool {
        false
    }
}

impl GraphSink for Events {
    fn goes_on(&mut self, _: u64) -> bool {
        true
    }

    fn events(&mut self, bytes: &[u8]) -> bool {
        let lists = &mut self.lists_of_objects;
        self.reader.read(bytes, |event| *lists += u64::from(event.id == 18)).is_ok()
    }
}

#[test]
fn events_of_a_collection_are_handed_on_and_the_next_visit_is_as_ever() {
    for runtime in [Runtime::Net8, Runtime::Net9, Runtime::Net10] {
        let guest = Guest::busy(runtime, &[]);
        for _ in 0..3 {
            let mut attached = guest.attach().expect("the agent comes");
            for _ in 0..2 {
                let mut sink = Events::default();
                let heap = attached.heap_graph(&order(GraphWay::Events), &mut sink, |_| ()).expect("a heap");
                assert_eq!((heap.end.objects, heap.end.collections), (sink.reader.events, 1), "{runtime}");
                let library = |path: &String| path.ends_with("System.Private.CoreLib.dll");
                assert!(heap.modules.values().any(library), "{runtime}: {:?}", heap.modules);
                assert!(sink.reader.is_whole() && sink.lists_of_objects > 0, "{runtime}");
            }
            assert!(!attached.stacks().expect("stacks").stacks.is_empty());
            assert!(attached.leave().expect("it leaves").confirmed);
        }
        guest.still_works();
    }
    // 3.1 has no such sessions.
    let guest = Guest::quiet(Runtime::Net31);
    let mut attached = guest.attach().expect("the agent comes");
    let outcome = attached.heap_graph(&order(GraphWay::Events), &mut Events::default(), |_| ());
    assert!(matches!(outcome, Err(AgentError::Refused { stage: Stage::Heap, .. })), "{outcome:?}");
    assert!(attached.leave().expect("it leaves").confirmed);
}

/// What docs/clr-profiling.md states, whatever the heap.
const STATED: u64 = 16 << 20;

#[test]
fn the_memory_of_the_target_does_not_grow_with_its_heap() {
    for (runtime, way) in
        [(Runtime::Net10, GraphWay::Walk), (Runtime::Net9, GraphWay::Walk), (Runtime::Net8, GraphWay::Events)]
    {
        let folder = crate::support::temp_folder();
        let builder = testbed::shared().target("known-heap", runtime).tmpdir(folder.path());
        let guest = Guest::started(builder.arg("cells=2000000").ready_within(LONG * 3), folder, "");
        let mut attached = guest.attach().expect("the agent comes");
        // What the runtime itself keeps of a first session and a first walk is there after the first answer.
        let mut ask = || match way {
            GraphWay::Walk => told(&mut attached, &mut Counting::default()).expect("a heap").bytes,
            GraphWay::Events => {
                let mut sink = Events::default();
                attached.heap_graph(&order(way), &mut sink, |_| ()).expect("a heap").bytes
            }
        };
        ask();
        let before = guest.vitals().resident;
        forget_peak(&guest.target);
        let bytes = ask();
        let grown = peak(&guest.target).saturating_sub(before);
        println!("{runtime}: {bytes} bytes told, {grown} bytes grown");
        assert!(bytes > 2 * STATED, "{runtime}: {bytes} bytes say nothing");
        assert!(grown <= STATED, "{runtime}: {grown} bytes");
        assert!(attached.leave().expect("it leaves").confirmed);
    }
}
