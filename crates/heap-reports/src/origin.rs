//! Where a heap comes from.

use std::collections::BTreeMap;

use model::{
    Cost, Finding, ProfilerInfo, REPORT_SCHEMA, Report, Section, Target, Timestamp, Window, WindowEnd,
};

/// Where a heap comes from: a process, or a file about one.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The process.
    pub target: Target,
    /// When the heap was looked at.
    pub taken_at: Timestamp,
    /// What the look cost.
    pub cost: Cost,
    /// What a reader must know to trust the numbers.
    pub notes: Vec<String>,
    /// Version of the tool.
    pub tool_version: String,
}

/// The parts of a report that differ.
pub(crate) struct Answer {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) question: &'static str,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) summary: String,
    pub(crate) findings: Vec<Finding>,
    pub(crate) sections: Vec<Section>,
    pub(crate) notes: Vec<String>,
}

impl Origin {
    pub(crate) fn report(&self, answer: Answer) -> Report {
        let mut report = Report {
            schema: REPORT_SCHEMA.to_owned(),
            tool_version: self.tool_version.clone(),
            profiler: ProfilerInfo {
                id: answer.id.to_owned(),
                name: answer.name.to_owned(),
                question: answer.question.to_owned(),
                parameters: answer.parameters,
            },
            target: self.target.clone(),
            window: Window {
                started_at: self.taken_at,
                requested_ns: 0,
                measured_ns: 0,
                end: WindowEnd::Completed,
            },
            outcome: None,
            summary: answer.summary,
            findings: answer.findings,
            sections: answer.sections,
            notes: self.notes.iter().cloned().chain(answer.notes).collect(),
            cost: self.cost.clone(),
        };
        report.rank_findings();
        report
    }
}
