//! The process a report is about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ProcessId, Timestamp};

/// The process a report is about, as it was when the measurement began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// Its id.
    pub pid: ProcessId,
    /// Name of the entry assembly, or the best name known.
    pub name: String,
    /// Version of the .NET runtime, such as `9.0.7`, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_version: Option<String>,
    /// Processor architecture, such as `x64`, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// When it started.
    #[schemars(with = "Option<String>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Its command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_line: Option<String>,
}
