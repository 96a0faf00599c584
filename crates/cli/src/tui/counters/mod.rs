//! Counters of some processes, live.

mod figures;
mod input;
mod labels;
mod plain;
mod rows;
mod state;
#[cfg(test)]
mod tests;
mod view;

pub use crate::tui::keys::Reaction;
pub use input::react;
pub use plain::block;
pub use state::{State, Status, Subject};
pub use view::draw;
