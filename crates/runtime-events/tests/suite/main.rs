//! The tests of this crate from outside, all in one program.

mod fixtures;
mod hostile;
mod live;
mod live_code;
mod live_counters;
mod live_heap;
mod live_rare;
mod session;
