//! The tests of this crate from outside, all in one program.

mod collecting;
mod known_heap;
mod support;
mod taking;
