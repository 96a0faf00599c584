//! Why there is no graph.

use std::time::Duration;

use diagnostics_ipc::IpcError;
use thiserror::Error;

/// Why there is no graph.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The runtime did not grant the session or did not answer.
    #[error(transparent)]
    Ipc(#[from] IpcError),
    /// The process ended in the middle.
    #[error("the process ended while its heap was being read")]
    TargetExited,
    /// The process has no socket that this user can reach.
    #[error("the process has no diagnostics socket that can be reached")]
    NoSocket,
    /// It would stand still for longer than may be without a word of the user's.
    #[error("the process may stand still for up to {:.1?}, which nobody has allowed", .estimate.1)]
    PauseNotAllowed {
        /// The pause to be expected: between the first and the second.
        estimate: (Duration, Duration),
        /// The most that its heap can take, in bytes.
        heap: u64,
    },
    /// Its memory limit is near.
    #[error("the process has {} MB left below its memory limit, {} MB may be needed", .left >> 20, .needed >> 20)]
    NoRoom {
        /// Bytes left.
        left: u64,
        /// The limit in bytes.
        limit: u64,
        /// Bytes that may be needed.
        needed: u64,
    },
    /// Nothing came for a long time.
    #[error("the process sent nothing for {0:.0?}")]
    Silent(Duration),
    /// The collection ran, but the runtime told no object.
    #[error("the runtime made a collection but told nothing of its heap")]
    NoHeap,
    /// A part of the events was lost.
    #[error("the heap came with holes: {0}")]
    Incomplete(Missing),
    /// The user asked for the end.
    #[error("stopped by the user")]
    Cancelled,
    /// The events do not make a graph.
    #[error(transparent)]
    Graph(#[from] heap_graph::Error),
    /// The stream broke off.
    #[error("the event stream is damaged: {0}")]
    Damaged(nettrace::Error),
}

/// What a heap with holes lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Events that the runtime says it dropped.
    pub events: u64,
    /// Events of objects that did not come.
    pub node_events: u64,
    /// Events of references that did not come.
    pub edge_events: u64,
    /// References that objects announced and that did not come.
    pub references: u64,
    /// Events of roots that did not come.
    pub root_events: u64,
    /// Events that could not be understood.
    pub undecodable: u64,
    /// The end of the collection did not come.
    pub end: bool,
}

impl Missing {
    /// Whether nothing is missing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Missing::default()
    }
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = [
            (self.events, "events dropped by the runtime"),
            (self.node_events, "lists of objects missing"),
            (self.edge_events, "lists of references missing"),
            (self.references, "references missing"),
            (self.root_events, "lists of roots missing"),
            (self.undecodable, "events not understood"),
        ];
        let mut parts: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if self.end {
            parts.push("the end of the collection missing".to_owned());
        }
        f.write_str(&parts.join(", "))
    }
}
