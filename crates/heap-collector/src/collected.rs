//! What was collected, and what it cost.

use std::collections::HashMap;
use std::time::Duration;

use diagnostics_ipc::Granted;
use heap_graph::{HeapGraph, TypeId};

/// How long all threads of the target stood still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// From the wish to stop until all threads run again.
    pub total: Duration,
    /// The part of it before the first object was told: stopping the threads and marking.
    pub collecting: Duration,
    /// The part of it in which the heap was told.
    pub telling: Duration,
}

/// The heap of a process.
#[derive(Debug)]
pub struct Collected {
    /// Its objects.
    pub graph: HeapGraph,
    /// The runtime's handles of its types: the addresses of their method tables.
    pub handles: HashMap<TypeId, u64>,
    /// How long it stood still; none when the events of the pause did not come.
    pub pause: Option<Pause>,
    /// Bytes that came.
    pub bytes: u64,
    /// Events that came.
    pub events: u64,
    /// From the first request to the end of the stream.
    pub elapsed: Duration,
    /// Types whose name did not come: another session may have been told them before.
    pub unnamed_types: u64,
    /// How the session was granted.
    pub granted: Granted,
}
