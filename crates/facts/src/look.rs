//! What a look saw beside its findings.

use serde::{Deserialize, Serialize};

use crate::{Frame, Stack};

/// What a look saw beside its findings, for whoever judges several looks together. Each look fills in what it knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LookFacts {
    /// Stacks of threads that used a processor, weighed by their time in nanoseconds.
    pub running: Vec<Stack>,
    /// Threads that stand still for ever, or wait behind one that does.
    pub still: Vec<StillThread>,
    /// The lock that was waited for longest, all threads together.
    pub lock: Option<LockWait>,
    /// The longest full collection that stopped the program from its begin to its end.
    pub full_collection: Option<FullCollection>,
    /// Whether it knows what lies beside the holes of the heap; else it guesses.
    pub saw_objects: bool,
}

/// A thread that stands still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StillThread {
    /// Its id in the system.
    pub id: u32,
    /// Its stack, innermost first.
    pub frames: Vec<Frame>,
}

/// Waits for one lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockWait {
    /// How long all threads together waited, in nanoseconds.
    pub waited_ns: u64,
    /// Of the time that was looked, in per cent; more than 100 if several wait at once.
    pub percent: f64,
    /// The program's own code that waits for it most, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Frame>,
}

/// A full collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FullCollection {
    /// How long it stopped the program, in nanoseconds.
    pub ns: u64,
    /// The program's own code that most time in collections goes back to, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Frame>,
}
