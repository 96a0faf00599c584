//! The tests of this crate from outside, all in one program.

mod commands;
mod port;
mod support;
