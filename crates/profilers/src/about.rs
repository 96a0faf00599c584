//! What is known of a run beside what it saw.

use std::time::Duration;

use model::{Cost, Finding, Section, WindowEnd};

use crate::profiler::Answer;

/// What is known of a run beside what it saw.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// How long it looked.
    pub(crate) measured: Duration,
    /// Why it ended.
    pub(crate) end: WindowEnd,
    /// What it cost.
    pub(crate) cost: Cost,
    /// What a reader must know to trust the numbers.
    pub(crate) notes: Vec<String>,
}

impl About {
    /// The answer of a run; its notes come after those of the answer.
    pub(crate) fn into_answer(
        self,
        summary: String,
        findings: Vec<Finding>,
        sections: Vec<Section>,
        mut notes: Vec<String>,
    ) -> Answer {
        notes.extend(self.notes);
        Answer {
            summary,
            findings,
            sections,
            notes,
            cost: self.cost,
            measured: self.measured,
            end: self.end,
            ..Answer::default()
        }
    }
}
