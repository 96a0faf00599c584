//! The tests of this crate from outside, all in one program.

mod formats;
mod support;
mod viewers;
