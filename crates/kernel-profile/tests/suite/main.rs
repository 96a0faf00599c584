//! The tests of this crate from outside, all in one program.

mod callers;
mod live_view;
mod memory;
mod names;
mod quality;
mod stacks;
mod support;
