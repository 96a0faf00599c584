//! A finding before it is put into words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Confidence, Culprit, Fact, Related, Severity};

/// A finding before it is put into words, as who judges sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// Stable id in kebab case, such as `deadlock`.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// Who causes it, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<Culprit>,
    /// What was measured.
    #[serde(default)]
    pub facts: Vec<Fact>,
}

impl Observation {
    /// An observation of which nothing is known yet but how much it matters.
    #[must_use]
    pub fn new(id: impl Into<String>, severity: Severity, confidence: Confidence) -> Observation {
        Observation { id: id.into(), severity, confidence, culprit: None, facts: Vec::new() }
    }

    /// Names the culprit.
    #[must_use]
    pub fn culprit(self, culprit: Culprit) -> Observation {
        Observation { culprit: Some(culprit), ..self }
    }

    /// Adds something that was measured. One that says nothing is left out.
    #[must_use]
    pub fn fact(mut self, fact: Fact) -> Observation {
        if !fact.is_empty() {
            self.facts.push(fact);
        }
        self
    }

    /// As what another one refers to it.
    #[must_use]
    pub fn related(&self) -> Related {
        Related { id: self.id.clone(), culprit: self.culprit.as_ref().map(|culprit| culprit.name.clone()) }
    }
}
