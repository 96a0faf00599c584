//! Methods and threads of a process by their time, live.

mod input;
mod plain;
mod rows;
mod state;
#[cfg(test)]
mod tests;
mod view;

pub use crate::tui::keys::Reaction;
pub use input::react;
pub use plain::block;
pub use state::{Interval, Side, State, Status};
pub use view::draw;
