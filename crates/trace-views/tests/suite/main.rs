//! The tests of this crate from outside, all in one program.

mod cut;
mod fixtures;
mod live;
#[path = "../support/recording.rs"]
mod recording;
#[path = "../../../nettrace/tests/support/stream.rs"]
#[expect(dead_code, reason = "the tests of streams use more of it")]
mod stream;
