//! The graph of a heap, on all four runtimes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::session::{EVERY, Subject, runtime_events};
use runtime_events::gc::{GcReason, GcType};
use runtime_events::heap::RootKind;
use runtime_events::{GcNumber, Generation, RuntimeEvent, TypeId, keyword};
use testbed::Runtime;

#[derive(Default)]
struct Graph {
    wanted: Option<GcNumber>,
    done: bool,
    nodes: u64,
    bytes: u64,
    edges_of_nodes: u64,
    edges: u64,
    edge_targets: HashSet<u64>,
    objects: HashSet<u64>,
    node_types: HashMap<TypeId, u64>,
    names: HashMap<TypeId, String>,
    node_parts: Vec<u32>,
    edge_parts: Vec<u32>,
    roots: BTreeMap<String, u64>,
    statics: BTreeSet<String>,
}

impl Graph {
    fn see(&mut self, decoded: &RuntimeEvent<'_>) {
        match decoded {
            RuntimeEvent::GcStart(start)
                if start.generation == Generation(2)
                    && start.reason == GcReason::Induced
                    && start.kind == GcType::Blocking =>
            {
                self.wanted.get_or_insert(start.number);
            }
            RuntimeEvent::GcEnd(end) => self.done |= self.wanted == Some(end.number),
            _ if self.wanted.is_none() || self.done => {}
            RuntimeEvent::Nodes(nodes) => {
                self.node_parts.push(nodes.index);
                self.nodes += nodes.len() as u64;
                for node in nodes.iter() {
                    self.bytes += node.bytes;
                    self.edges_of_nodes += node.edges;
                    self.objects.insert(node.address.0);
                    *self.node_types.entry(node.type_id).or_default() += 1;
                }
            }
            RuntimeEvent::Edges(edges) => {
                self.edge_parts.push(edges.index);
                self.edges += edges.len() as u64;
                self.edge_targets.extend(edges.iter().map(|edge| edge.target.0));
            }
            RuntimeEvent::Types(types) => {
                self.names.extend(types.iter().map(|info| (info.id, info.name.to_string())));
            }
            RuntimeEvent::Roots(roots) => {
                for root in *roots {
                    assert!(!matches!(root.kind, RootKind::Other(_)), "{root:?}");
                    *self.roots.entry(format!("{:?}", root.kind)).or_default() += 1;
                }
            }
            RuntimeEvent::StaticRoots(roots) => {
                assert_eq!(roots.iter().count(), roots.count as usize);
                self.statics.extend(roots.iter().map(|root| root.field.to_string()));
            }
            _ => {}
        }
    }
}

#[test]
fn a_heap_graph_is_whole_and_its_types_have_names() {
    for runtime in EVERY {
        let subject = Subject::start("leak-static-collection", runtime);
        let request = runtime_events(keyword::HEAP_SNAPSHOT);
        let graph: Graph =
            subject.watch(&request, |graph, _, decoded| graph.see(&decoded), |graph| graph.done);
        println!(
            "{runtime}: {} objects, {} bytes, {} edges, {} types, roots {:?}, {} statics",
            graph.nodes,
            graph.bytes,
            graph.edges,
            graph.names.len(),
            graph.roots,
            graph.statics.len()
        );
        assert!(graph.nodes > 500 && graph.bytes > 20 * graph.nodes, "{runtime}");
        assert_eq!(graph.objects.len() as u64, graph.nodes, "{runtime}: every object once");
        assert_eq!(graph.edges_of_nodes, graph.edges, "{runtime}: edges belong to nodes");
        let unknown = graph.edge_targets.difference(&graph.objects).count();
        assert_eq!(unknown, 0, "{runtime}: edges lead to objects");
        let whole = |parts: &[u32]| parts.iter().enumerate().all(|(index, part)| index == *part as usize);
        assert!(whole(&graph.node_parts) && whole(&graph.edge_parts), "{runtime}: no part is missing");
        let unnamed = graph.node_types.keys().filter(|id| graph.names.get(id).is_none_or(String::is_empty));
        assert_eq!(unnamed.count(), 0, "{runtime}: every type has a name");
        assert!(graph.roots.contains_key("Handle"), "{runtime}: {:?}", graph.roots);
        if runtime != Runtime::Net10 {
            assert!(graph.names.values().any(|name| name == "Shop.Order"), "{runtime}");
            assert!(graph.statics.contains("s_orders"), "{runtime}: {:?}", graph.statics);
        }
    }
}
