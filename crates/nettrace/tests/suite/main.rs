//! The tests of this crate from outside, all in one program.

mod copying;
mod fixtures;
mod forgetting;
mod hostile;
mod live;
#[path = "../support/session.rs"]
#[expect(dead_code, reason = "the recorder uses more of it")]
mod session;
#[path = "../support/stream.rs"]
mod stream;
mod streams;
#[path = "../support/summary.rs"]
mod summary;
