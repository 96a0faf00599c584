//! A session with a runtime's event stream: started, read all the time, stopped, read to its end.
//!
//! ```text
//! TraceRequest --> start --+--> consumer thread: reads the stream (raw bytes, or typed events by `observe`)
//!                          |
//!                          +--> calling thread: `wait` until it says stop; StopTracing; until the stream ends
//! ```
//!
//! **In:** a client and a request. **Out:** what the consumer made of the stream, and how it ended
//! ([`SessionEnd`]). A target that exits, hangs or sends nonsense ends the session; it never hangs the tool.
//!
//! It judges nothing and keeps nothing.
#![forbid(unsafe_code)]

mod drive;
mod later;
mod observe;

pub use drive::{Driven, Going, SessionEnd, SessionStream, Waiting, drive};
pub use later::{NAMES_ARE_SAFE_SINCE, names_would_be_withheld};
pub use observe::{Clock, Observed, Observer, Seen, observe, observe_shortly};
