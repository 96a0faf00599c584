//! What a measurement cost the target, and us. Shown in every report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stops of the target caused by the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pauses {
    /// How often it was stopped.
    pub count: u64,
    /// All stops together, in nanoseconds.
    pub total_ns: u64,
    /// The longest stop, in nanoseconds.
    pub longest_ns: u64,
}

/// What the tool itself used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostCost {
    /// Processor time, in nanoseconds.
    pub cpu_ns: u64,
    /// Largest resident memory, in bytes.
    pub peak_memory_bytes: u64,
}

/// What a measurement cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// How the data was got, in a few words, such as `read from /proc; nothing sent to the target`.
    pub method: String,
    /// Stops of the target.
    pub pauses: Pauses,
    /// Processor time the target spent on our behalf, in nanoseconds, when it can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_cpu_ns: Option<u64>,
    /// Bytes that came from the target or from the kernel.
    pub bytes: u64,
    /// Events that arrived.
    pub events: u64,
    /// Events known to be lost.
    pub events_lost: u64,
    /// What the tool itself used.
    pub host: HostCost,
}
