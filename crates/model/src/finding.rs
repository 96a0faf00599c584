//! A finding: one thing that is wrong, who does it, what proves it, what to do.

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

/// What kind of thing is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CulpritKind {
    /// A method of the program or of a library.
    Method,
    /// A type, for example one whose objects pile up.
    Type,
    /// A thread.
    Thread,
    /// A static or instance field that holds something.
    Field,
    /// A setting of the process or of its container.
    Setting,
}

/// Who or what causes a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Culprit {
    /// What kind of thing it is.
    pub kind: CulpritKind,
    /// Its full name.
    pub name: String,
    /// Source file, when debug information was at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl Culprit {
    /// A culprit without a place in the source.
    #[must_use]
    pub fn new(kind: CulpritKind, name: impl Into<String>) -> Self {
        Culprit { kind, name: name.into(), file: None, line: None }
    }
}

/// One number or observation that proves a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What was looked at, such as `CPU used`.
    pub what: String,
    /// What was seen, ready to read, such as `4.9 s of 5 s`.
    pub seen: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable id in kebab case, the same in every version of the tool, such as `deadlock`.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// How sure the profiler is.
    pub confidence: Confidence,
    /// One sentence a person understands.
    pub title: String,
    /// Who causes it, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<Culprit>,
    /// The observations that prove it.
    pub evidence: Vec<Evidence>,
    /// What to do, most useful first.
    pub advice: Vec<String>,
    /// The one command that digs deeper, ready to be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Finding {
    /// A finding with no evidence yet.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        severity: Severity,
        confidence: Confidence,
        title: impl Into<String>,
    ) -> Self {
        Finding {
            id: id.into(),
            severity,
            confidence,
            title: title.into(),
            culprit: None,
            evidence: Vec::new(),
            advice: Vec::new(),
            command: None,
        }
    }

    /// Names the culprit.
    #[must_use]
    pub fn culprit(mut self, culprit: Culprit) -> Self {
        self.culprit = Some(culprit);
        self
    }

    /// Adds an observation.
    #[must_use]
    pub fn evidence(mut self, what: impl Into<String>, seen: impl Into<String>) -> Self {
        self.evidence.push(Evidence { what: what.into(), seen: seen.into() });
        self
    }

    /// Adds a piece of advice.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }

    /// Names the command that digs deeper.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }
}
