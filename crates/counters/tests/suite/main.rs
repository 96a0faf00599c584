//! The tests of this crate from outside, all in one program.

mod export;
mod live;
