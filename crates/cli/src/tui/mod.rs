//! Live screens. Each is split into what is known (`state`), what is drawn (`view`) and what keys do (`input`).

pub mod counters;
mod keys;
mod paint;
mod terminal;
pub mod top;

pub use terminal::{QuietErrors, Terminal};
