//! The whole heap, told by the agent.

use std::collections::HashMap;
use std::time::Duration;

use agent_host::{
    AgentError, Attached, GraphOrder, GraphSink, GraphWay, HeapTold, ObjectSink, Stage, ToldObject,
};
use testbed::Runtime;

use crate::support::Guest;

/// Counts, and remembers what each reference leads to.
#[derive(Default)]
pub struct Counting {
    pub objects: u64,
    pub references: u64,
    pub bytes: u64,
    pub by_class: HashMap<u64, u64>,
    addresses: Vec<u64>,
    targets: Vec<u64>,
    keeps: bool,
}

impl ObjectSink for Counting {
    fn object(&mut self, object: ToldObject) -> bool {
        self.objects += 1;
        self.bytes += object.size;
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
        let guest = match runtime {
            Runtime::Net9 => Guest::of("leak-static-collection", runtime),
            _ => Guest::quiet(runtime),
        };
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
        // Every reference leads to an object that was told, frozen ones included, and no object was told twice.
        let mut addresses = sink.addresses.clone();
        addresses.sort_unstable();
        assert!(addresses.is_sorted_by(|one, other| one < other), "{runtime}: an object twice");
        let lost = sink.targets.iter().filter(|target| addresses.binary_search(target).is_err()).count();
        assert_eq!(lost, 0, "{runtime}: of {}", sink.references);
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
