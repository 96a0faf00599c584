//! Real programs that stand still while they are read.

use std::collections::BTreeMap;
use std::time::Duration;

use discovery::{DotnetProcess, Options, find};
use event_session::Going;
use gc_memory::{CoreHeap, GcMemory};
use heap_collector::{Stage, Watch};
use heap_graph::HeapGraph;
use model::ProcessId;
use testbed::{Target, TargetBuilder};

/// A running program.
pub struct Subject {
    pub target: Target,
    pub process: DotnetProcess,
}

/// Waits to the end.
pub struct Patience;

impl Watch for Patience {
    fn look(&mut self, stage: &Stage) -> Going {
        std::thread::sleep(stage.slice);
        Going::On
    }
}

impl Subject {
    pub fn start(builder: TargetBuilder<'_>) -> Subject {
        let target = builder.start().expect("a target");
        let options = Options { timeout: Duration::from_secs(60) };
        let process = find(ProcessId(target.pid()), &options).expect("it is a .NET process");
        Subject { target, process }
    }

    pub fn pid(&self) -> ProcessId {
        ProcessId(self.target.pid())
    }

    /// The collector, seen from outside.
    pub fn open(&self) -> GcMemory {
        GcMemory::open(self.pid()).unwrap_or_else(|error| panic!("{}: {error}", self.target.runtime()))
    }

    /// The heap, while the program is stopped.
    pub fn still_heap(&self) -> CoreHeap {
        let mut memory = self.open();
        self.target.suspend().expect("it is stopped");
        let heap = memory.graph_from_outside(&[]).expect("a graph");
        self.target.resume().expect("it goes on");
        heap
    }
}

/// How many objects of each type a list of addresses leads to.
pub fn types_at(graph: &HeapGraph, addresses: impl Iterator<Item = u64>) -> BTreeMap<String, usize> {
    let by_address: BTreeMap<u64, _> = graph.nodes().map(|node| (graph.address(node).0, node)).collect();
    let mut types = BTreeMap::new();
    for address in addresses {
        let name =
            by_address.get(&address).map(|&node| graph.type_info(graph.type_of(node)).name.to_string());
        *types.entry(name.unwrap_or_else(|| "no object".to_owned())).or_default() += 1;
    }
    types
}
