//! The tests of this crate from outside, all in one program.

mod every_patient;
mod preparation;
mod readme;
mod targets;
