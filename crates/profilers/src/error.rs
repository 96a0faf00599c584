//! Why a profiler has no answer.

use agent_host::AgentError;
use diagnostics_ipc::IpcError;
use perf_sampler::SamplerError;
use process_view::ViewError;
use thiserror::Error;

use crate::control::NotFound;

/// Why a profiler has no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProfilerError {
    /// The target ended before anything could be measured.
    #[error("the process ended before anything could be measured")]
    TargetEnded,
    /// The kernel did not show what was needed.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The runtime did not do what was asked.
    #[error(transparent)]
    Runtime(#[from] IpcError),
    /// The kernel did not let us sample; it says why, and what would change that.
    #[error(transparent)]
    Sampling(#[from] SamplerError),
    /// No agent could be brought into the process, or it did not answer.
    #[error(transparent)]
    Agent(AgentError),
    /// The heap could not be told.
    #[error(transparent)]
    Heap(heap_collector::Error),
    /// An earlier heap to compare with could not be read.
    #[error("{}", .0.what)]
    Earlier(NotFound),
    /// The runtime cannot be asked at all: it has no socket that this user can reach.
    #[error("the process has no diagnostics socket that can be reached")]
    NoRuntime,
    /// The runtime is too old for this profiler.
    #[error("{profiler} needs .NET {needed} or newer, the process runs {found}")]
    RuntimeTooOld {
        /// Which profiler.
        profiler: &'static str,
        /// Oldest version it supports.
        needed: &'static str,
        /// Version of the target.
        found: String,
    },
    /// The target lives where this profiler cannot look.
    #[error("{profiler} reads /proc, which does not show this process: it lives in another pid namespace")]
    NotVisible {
        /// Which profiler.
        profiler: &'static str,
    },
}
