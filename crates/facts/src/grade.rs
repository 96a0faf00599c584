//! How much a finding matters, and how sure it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters to the person on call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; nothing is broken.
    Info,
    /// Costs time or memory, or will break something if it goes on.
    Warning,
    /// Broken now.
    Critical,
}

impl Severity {
    /// The lower-case word used in every rendering.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

/// How sure the profiler is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// A hint: other explanations are as likely.
    Low,
    /// Likely; the evidence does not exclude another cause.
    Medium,
    /// Proven by what was measured.
    High,
}

impl Confidence {
    /// The lower-case word used in every rendering.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}
