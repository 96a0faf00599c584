//! The report: the one result every profiler gives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Body, Cost, Finding, Section, Target, Timestamp};

/// Name and version of the JSON form. The number goes up when a reader of the old form would be misled;
/// added fields do not count.
pub const REPORT_SCHEMA: &str = "drdotnet.report/2";
/// Older forms that this version still reads. The first has no facts of findings, and no outcome.
const OLDER_SCHEMAS: &[&str] = &["drdotnet.report/1"];

/// Which profiler made the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfilerInfo {
    /// Stable id, such as `threads`.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// The question it answers.
    pub question: String,
    /// Parameters as used, by name, defaults included.
    pub parameters: std::collections::BTreeMap<String, String>,
}

/// Why the measurement ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowEnd {
    /// The chosen time was over, or the question was answered.
    #[default]
    Completed,
    /// The user ended it early; the report covers the time up to then.
    Cancelled,
    /// The target ended; the report covers the time up to then.
    TargetExited,
}

/// What a checkup comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Something is wrong that somebody should do something about.
    Ill,
    /// Nothing is wrong.
    Healthy,
    /// Nothing is wrong by all that could be looked at; something could not.
    HealthyAsFarAsSeen,
    /// Nothing wrong was found from outside, but the runtime could not be asked.
    OutsideOnly,
    /// It ended before its time, and nothing wrong was found until then.
    Unfinished,
}

impl Outcome {
    /// Whether it is healthy by what was looked at.
    #[must_use]
    pub fn is_healthy(self) -> bool {
        matches!(self, Outcome::Healthy | Outcome::HealthyAsFarAsSeen)
    }
}

/// The time a report covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// When the measurement began.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// How long was asked for, in nanoseconds.
    pub requested_ns: u64,
    /// How long it took, in nanoseconds.
    pub measured_ns: u64,
    /// Why it ended.
    pub end: WindowEnd,
}

/// The one result every profiler gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`REPORT_SCHEMA`] of the tool that wrote it.
    pub schema: String,
    /// Version of the tool that wrote it.
    pub tool_version: String,
    /// Which profiler.
    pub profiler: ProfilerInfo,
    /// Which process.
    pub target: Target,
    /// Which time.
    pub window: Window,
    /// What it comes to; of checkups only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The answer in one sentence.
    pub summary: String,
    /// What is wrong, worst first; empty when nothing was found.
    pub findings: Vec<Finding>,
    /// Tables, trees, stacks and series that carry the detail.
    pub sections: Vec<Section>,
    /// What could not be seen, and other things a reader must know to trust the numbers.
    pub notes: Vec<String>,
    /// What the measurement cost.
    pub cost: Cost,
}

/// Why a text is not a report that this version can read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Not the JSON of a report.
    #[error("not a report: {0}")]
    Json(#[from] serde_json::Error),
    /// A report of another version.
    #[error("the report has schema '{found}', this version reads '{REPORT_SCHEMA}'")]
    Version {
        /// Schema named in the file.
        found: String,
    },
    /// A table row whose length is not the number of columns.
    #[error("section '{section}': a row has {cells} cells for {columns} columns")]
    Ragged {
        /// Which section.
        section: String,
        /// Cells in the row.
        cells: usize,
        /// Columns of the table.
        columns: usize,
    },
}

impl Report {
    /// Sorts the findings, worst and surest first; equal ones keep their order.
    pub fn rank_findings(&mut self) {
        self.findings.sort_by_key(|finding| std::cmp::Reverse((finding.severity, finding.confidence)));
    }

    /// The JSON form, indented, with a line feed at the end.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// Reads the JSON form back and checks what the types cannot say.
    pub fn from_json(text: &str) -> Result<Report, SchemaError> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let head: Head = serde_json::from_str(text)?;
        if head.schema != REPORT_SCHEMA && !OLDER_SCHEMAS.contains(&head.schema.as_str()) {
            return Err(SchemaError::Version { found: head.schema });
        }
        let report: Report = serde_json::from_str(text)?;
        report.check_tables()?;
        Ok(report)
    }

    fn check_tables(&self) -> Result<(), SchemaError> {
        for section in &self.sections {
            let Body::Table(table) = &section.body else { continue };
            if let Some(row) = table.rows.iter().find(|row| row.len() != table.columns.len()) {
                return Err(SchemaError::Ragged {
                    section: section.id.clone(),
                    cells: row.len(),
                    columns: table.columns.len(),
                });
            }
        }
        Ok(())
    }
}
