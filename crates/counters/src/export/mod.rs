//! Values of counters as text that other tools read. Every text of the target is escaped for its format.

pub mod csv;
pub mod exposition;
pub mod json;
mod labels;
mod names;
mod number;
mod rows;
mod time;

pub use rows::{Row, RowKind, rows};
pub use time::Zone;
