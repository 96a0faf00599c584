//! Why the collector's structures cannot be read.

use std::path::PathBuf;

use model::ProcessId;
use thiserror::Error;

/// Why the collector's structures cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The memory cannot be read, or has no runtime in it.
    #[error(transparent)]
    Memory(#[from] runtime_memory::Error),
    /// The runtime is there, but its collector's variables are not where they should be.
    #[error(
        "the garbage collector of process {pid} was not found in its memory: its runtime is of a kind that is not known \
         here, or has just started; take the heap by events instead, or try again"
    )]
    NoCollector {
        /// Which process.
        pid: ProcessId,
    },
    /// The file is no core dump that can be read.
    #[error(transparent)]
    File(#[from] core_dumps::CoreError),
    /// The heap of a core dump cannot be read.
    #[error("the heap of {path} cannot be read: {what}")]
    Core {
        /// Which file.
        path: PathBuf,
        /// Why, and what to do.
        what: &'static str,
    },
    /// It is more than a graph can hold.
    #[error(transparent)]
    Graph(#[from] heap_graph::Error),
}
