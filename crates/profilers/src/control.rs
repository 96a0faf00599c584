//! How the world outside talks to a running profiler: how it waits and ends, what other looks share with it, and what earlier
//! sessions have kept. Three traits, because a wrapper of one must not lose the others; none has a method with a default.

use std::time::Duration;

use heap_collector::Taken;
use heap_graph::HeapGraph;
use kernel_collector::SharedCode;
use model::Timestamp;

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time is over.
    TimeOver,
    /// The user wants the report now.
    Cancelled,
}

/// How a run waits, says how far it is, and learns that it is to end.
pub trait Control: Sync {
    /// Waits, at most this long; comes back early when the user wants the report now.
    fn wait(&self, time: Duration) -> Stop;

    /// Says how far it is.
    fn progress(&self, elapsed: Duration, total: Duration, note: &str);
}

/// What several looks at one process share, so that it is not asked for the same thing twice.
pub trait Sharing: Sync {
    /// Takes a heap that its profiler needs no more, for whoever asks about the same process next: to take it again would stop
    /// the process once more.
    fn hand_on_heap(&self, taken: Taken);

    /// A heap that was handed on a moment ago, if there is one.
    fn handed_on_heap(&self) -> Option<Taken>;

    /// Takes the code of the process, for looks that are taken at the same time or soon: to list all of it again costs the process
    /// some 20 ms.
    fn hand_on_code(&self, code: SharedCode);

    /// Code that was handed on a moment ago, or that another look is just receiving, if there is any.
    fn handed_on_code(&self) -> Option<SharedCode>;

    /// Whether the process may compile methods while it is looked at; not if it is known not to have done so for a while.
    fn expects_code(&self) -> bool;
}

/// What is kept with the report to come, and what earlier ones have kept.
pub trait Archive: Sync {
    /// Keeps a heap under a name of its own, for later comparisons.
    fn keep_heap(&self, name: &str, graph: &HeapGraph) -> Result<(), String>;

    /// The heap that a user means by a session or a file.
    fn earlier_heap(&self, which: &str) -> Result<EarlierHeap, NotFound>;
}

/// A heap that was kept.
#[derive(Debug)]
pub struct EarlierHeap {
    /// Its objects.
    pub graph: HeapGraph,
    /// When it was taken, if that is known.
    pub taken_at: Option<Timestamp>,
    /// The name of the process, if it is known.
    pub process: Option<String>,
}

/// Why there is no such heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// What is wrong.
    pub what: String,
    /// What to do about it, most useful first.
    pub next: Vec<String>,
}
