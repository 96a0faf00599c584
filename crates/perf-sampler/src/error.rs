//! What can go wrong.

use model::ProcessId;

use crate::granted::{Cause, Remedy, write_remedies};

/// Why sampling did not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SamplerError {
    /// None of the processes is there.
    #[error("no process {process}")]
    NoSuchProcess {
        /// The first one that is not.
        process: ProcessId,
    },
    /// No process was named.
    #[error("there is no process to sample")]
    NoTarget,
    /// A rate of 0.
    #[error("a rate of 0 samples per second gives none")]
    NoRate,
    /// The kernel gives nothing of what was asked for.
    #[error("the kernel does not let this process sample: {cause}{}", advice(.remedies))]
    Refused {
        /// Why.
        cause: Cause,
        /// What would change that; each alone is enough.
        remedies: Vec<Remedy>,
    },
    /// Not even the smallest ring is granted.
    #[error("no memory for a buffer of {} KB per CPU: {cause}{}", .smallest / 1024, advice(.remedies))]
    NoRing {
        /// Its size in bytes.
        smallest: usize,
        /// Why.
        cause: Cause,
        /// What would change that.
        remedies: Vec<Remedy>,
    },
    /// A call failed that never should.
    #[error("could not {doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

fn advice(remedies: &[Remedy]) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_remedies(&mut text, "to change that", remedies);
    text
}
