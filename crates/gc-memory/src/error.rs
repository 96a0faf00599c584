//! Why the collector's structures cannot be read.

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
}
