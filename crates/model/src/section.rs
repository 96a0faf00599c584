//! The detail of a report: tables, trees, stacks, series.
//!
//! Values are raw numbers; the column's [`Unit`] tells a renderer how to show them and a script what they
//! mean. So JSON never holds `1.2 MB`, and a terminal never shows 1234567.

use facts::Stack;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tree::Tree;

/// What a number or text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A text.
    Text,
    /// A whole number of things.
    Count,
    /// An identifier: a number that is never grouped or rounded.
    Id,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Per cent, 100 for all.
    Percent,
    /// A moment: an RFC 3339 text.
    Time,
}

/// One value. In JSON a plain null, number or string; the column says its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// Not known.
    Missing,
    /// A whole number.
    Number(u64),
    /// A fraction, such as per cent.
    Fraction(f64),
    /// A text.
    Text(String),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Cell::Number(number)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Cell::Number(number.into())
    }
}

impl From<f64> for Cell {
    fn from(fraction: f64) -> Self {
        // JSON has no word for these, and a share of nothing is unknown.
        if fraction.is_finite() { Cell::Fraction(fraction) } else { Cell::Missing }
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Missing, Into::into)
    }
}

/// One column of a table or tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// Stable id in kebab case.
    pub id: String,
    /// Heading for people.
    pub title: String,
    /// What its values mean.
    pub unit: Unit,
}

impl Column {
    /// A column.
    #[must_use]
    pub fn new(id: &str, title: &str, unit: Unit) -> Self {
        Column { id: id.to_owned(), title: title.to_owned(), unit }
    }
}

/// Rows under columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows; each has one cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Rows that exist but were left out to keep the report short.
    #[serde(default)]
    pub omitted_rows: u64,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Table { columns: columns.into_iter().collect(), rows: Vec::new(), omitted_rows: 0 }
    }

    /// Adds a row. Missing cells are filled and surplus ones cut, so that a table is never ragged.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) {
        let mut row: Vec<Cell> = row.into_iter().collect();
        row.resize(self.columns.len(), Cell::Missing);
        self.rows.push(row);
    }
}

/// Call stacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stacks {
    /// What a weight means.
    pub unit: Unit,
    /// The stacks, heaviest first.
    pub stacks: Vec<Stack>,
}

/// Values over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// What a value means.
    pub unit: Unit,
    /// The lines.
    pub lines: Vec<Line>,
}

/// One line of a [`Series`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// What is measured.
    pub label: String,
    /// The points, in order of time.
    pub points: Vec<Point>,
}

/// One point of a [`Line`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Nanoseconds since the start of the window.
    pub at_ns: u64,
    /// The value; in JSON null when it is unknown, which renderers leave out.
    #[serde(deserialize_with = "number_or_unknown")]
    #[schemars(with = "Option<f64>")]
    pub value: f64,
}

/// JSON has no word for a value that is not a number, so it is written as null, and null is read as one.
fn number_or_unknown<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Option::<f64>::deserialize(deserializer).map(|value| value.unwrap_or(f64::NAN))
}

/// What a section shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Body {
    /// Rows under columns.
    Table(Table),
    /// A tree whose nodes carry values.
    Tree(Tree),
    /// Call stacks.
    Stacks(Stacks),
    /// Values over time.
    Series(Series),
}

/// One titled part of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Section {
    /// Stable id in kebab case.
    pub id: String,
    /// Heading for people.
    pub title: String,
    /// What it shows.
    #[serde(flatten)]
    pub body: Body,
}

impl Section {
    /// A section.
    #[must_use]
    pub fn new(id: &str, title: &str, body: Body) -> Self {
        Section { id: id.to_owned(), title: title.to_owned(), body }
    }
}
