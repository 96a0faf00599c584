//! The tests of this crate from outside, all in one program.

mod against_rundown;
mod circumstances;
mod damaged;
mod subject;
