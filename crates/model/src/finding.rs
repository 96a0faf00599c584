//! A finding: one thing that is wrong, who does it, what proves it, what to do.

use facts::{Confidence, Culprit, Fact, Observation, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One number or observation that proves a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What was looked at, such as `CPU used`.
    pub what: String,
    /// What was seen, ready to read, such as `4.9 s of 5 s`.
    pub seen: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// What was measured, as types: what programs and rules read. Reports of schema 1 have none.
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// The observations that prove it, in words for people.
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
            facts: Vec::new(),
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

    /// Adds something that was measured. One that says nothing is left out.
    #[must_use]
    pub fn fact(mut self, fact: Fact) -> Self {
        if !fact.is_empty() {
            self.facts.push(fact);
        }
        self
    }

    /// Without its words.
    #[must_use]
    pub fn observed(&self) -> Observation {
        Observation {
            id: self.id.clone(),
            severity: self.severity,
            confidence: self.confidence,
            culprit: self.culprit.clone(),
            facts: self.facts.clone(),
        }
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
