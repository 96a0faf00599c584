//! What a report looks like.
//!
//! ```text
//!                       +--> terminal   80 columns, for the person on call
//! Report --> FORMATS ---+--> markdown   for an issue or a chat
//!            (registry) +--> html       one page that needs nothing else
//!                       +--> json       for scripts; the only one that keeps every character
//! ```
//!
//! In: a [`model::Report`], whose strings are exactly what the target gave. Out: a `String` in one of the
//! [`FORMATS`]. The names, messages and command lines of a target are hostile input: each format passes them
//! through [`printable`] and then escapes what its own medium would obey, so that a type name can neither
//! move the cursor, nor turn text around, nor become a link or a script.
//!
//! This crate opens and prints nothing, does not ask what terminal it is on (the caller says so in
//! [`TerminalStyle`]), and never judges: it does not sort, rank or leave out findings.
//!
//! ```
//! use model::{Cell, Column, Table, Unit};
//! use reports::{LastColumn, TerminalStyle};
//!
//! let mut table = Table::new([Column::new("pid", "PID", Unit::Id), Column::new("name", "Name", Unit::Text)]);
//! table.push([Cell::from(4242u32), Cell::from("shop\u{1b}[2J")]);
//! let text = reports::terminal::render_table(&table, &TerminalStyle::default(), LastColumn::Fills);
//! assert_eq!(text, " PID  Name\n4242  shop\\u{1b}[2J\n");
//! ```
#![forbid(unsafe_code)]

mod hostile;
pub mod html;
pub mod json;
pub mod markdown;
mod phrases;
mod registry;
mod sparkline;
pub mod terminal;
pub mod value;

pub use hostile::{LONGEST_NAME, LONGEST_PROSE, printable, printable_within};
pub use registry::{FORMATS, Format};
pub use terminal::{Colour, LastColumn, TerminalStyle};
