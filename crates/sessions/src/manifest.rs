//! What a session says about its start and its end.

use std::collections::BTreeMap;

use model::{Target, Timestamp};
use serde::{Deserialize, Serialize};

/// Name and version of the session folder's form.
pub const MANIFEST_SCHEMA: &str = "drdotnet.session/1";

/// What was started: `session.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_SCHEMA`].
    pub schema: String,
    /// Version of the tool.
    pub tool_version: String,
    /// Id of the profiler.
    pub profiler: String,
    /// Its parameters as used.
    pub parameters: BTreeMap<String, String>,
    /// The process.
    pub target: Target,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it was to take, in nanoseconds.
    pub requested_ns: u64,
}

/// How a session ended, when its tool lived to say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeStatus {
    /// With a report over the whole time.
    Done,
    /// Without a report.
    Failed,
    /// The user ended it early; the report covers the time up to then.
    Cancelled,
}

/// How a session ended: `outcome.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// In a word.
    pub status: OutcomeStatus,
    /// When.
    pub ended_at: Timestamp,
    /// What went wrong, for a failed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
