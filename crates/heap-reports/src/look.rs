//! A graph with all that is computed of it.

use heap_graph::{Dominators, HeapGraph, ShortestPaths, TypeRow, by_type};

/// A graph with all that is computed of it.
#[derive(Debug)]
pub struct Look {
    /// The graph, without the runtime's own tables of static fields.
    pub graph: HeapGraph,
    /// Who alone keeps what alive.
    pub dominators: Dominators,
    /// The shortest way to each object.
    pub paths: ShortestPaths,
    /// The types that have objects, the most retained bytes first.
    pub types: Vec<TypeRow>,
}

impl Look {
    /// Computes.
    #[must_use]
    pub fn of(graph: HeapGraph) -> Look {
        Look::with_paths(graph, ShortestPaths::of)
    }

    /// The same with paths of another kind.
    #[must_use]
    pub fn with_paths(mut graph: HeapGraph, paths: impl FnOnce(&HeapGraph) -> ShortestPaths) -> Look {
        // With them no static field holds anything alone.
        graph.cut_statics_tables();
        let dominators = Dominators::of(&graph);
        let types = by_type(&graph, &dominators);
        let paths = paths(&graph);
        Look { graph, dominators, paths, types }
    }

    /// Bytes that the roots keep alive.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        self.dominators.reachable().bytes
    }
}
