//! The nouns every crate shares.
//!
//! ```text
//! collectors --(typed data)--> profilers --(Report)--> reports: terminal, markdown, html, json
//!                                             |
//!                                             +------> sessions: report.json
//! ```
//!
//! In: what a profiler found. Out: one [`Report`], the only thing that renderers, sessions, the command
//! line and scripts ever see. Its JSON form is versioned ([`REPORT_SCHEMA`]) and described by
//! `docs/report.schema.json`, which a test keeps equal to these types.
//!
//! This crate opens nothing, prints nothing and has no `unsafe`. Strings in a report are kept exactly as the
//! target gave them: they are hostile input, and each renderer escapes them for its own medium.
//!
//! ```
//! use model::{Report, Table, Column, Unit, Cell};
//! let mut table = Table::new([Column::new("name", "Name", Unit::Text), Column::new("cpu", "CPU", Unit::Nanoseconds)]);
//! table.push([Cell::from("main"), Cell::from(1_500_000u64)]);
//! assert_eq!(table.rows.len(), 1);
//! ```
#![forbid(unsafe_code)]

mod cost;
mod duration;
mod finding;
mod ids;
mod report;
mod section;
mod target;
mod target_text;
mod tree;
mod wording;

pub use cost::{Cost, HostCost, Pauses};
pub use duration::{DurationError, format_duration, parse_duration};
pub use finding::{Evidence, Finding};
pub use ids::{ProcessId, ThreadId};
pub use report::{Outcome, ProfilerInfo, REPORT_SCHEMA, Report, SchemaError, Window, WindowEnd};
pub use section::{Body, Cell, Column, Line, Point, Section, Series, Stacks, Table, Unit};
pub use target::Target;
pub use target_text::{Redaction, TargetText};
pub use tree::{Node, Tree};
pub use wording::awaited_by;

/// What findings and stacks are made of.
pub use facts::{
    Caller, Confidence, Culprit, CulpritKind, Fact, Frame, FrameKind, PauseCause, Related, Severity, Stack,
    Value,
};
/// A moment in time, written as RFC 3339 in UTC.
pub use jiff::Timestamp;
