//! Records the events of a runtime into `.nettrace` files.
//!
//! ```text
//!  --profile, --providers, --clrevents --> Selection --> TraceRequest
//!                                                            |
//!                 session --> copy: counts, watches <--------+
//!                               |
//!                               +--> TraceFile        one file, complete at every instant   (record)
//!                               +--> Spool --> TraceFile   the last part, saved on demand   (fly)
//! ```
//!
//! **In:** the options as they were typed, and a client of a running process. **Out:** `.nettrace` files that every
//! reader opens, a [`Tally`] of what is in them and what was lost, and errors that point at the character
//! ([`SyntaxError`]).
//!
//! Memory is bounded by one block of the stream and the runtime's kinds of events; the past of a flight recorder
//! lies on disk. It names no code and analyses nothing; it prints nothing.
#![forbid(unsafe_code)]

mod clr_events;
mod condition;
mod copy;
mod error;
mod file;
mod flight;
mod gauges;
mod keep;
mod live;
mod naming;
mod profile;
mod provider;
mod record;
mod selection;
mod spool;
mod stopping_event;
mod syntax;
mod watch;

pub use clr_events::{CLR_EVENTS, parse_clr_events};
pub use condition::{Condition, Gauge, Side};
pub use copy::{DEEPEST_STACK, StreamEnd, Tally, inspect};
pub use error::RecordingError;
pub use file::TraceFile;
pub use flight::{Flight, Pilot, Wish, fly};
pub use gauges::Gauges;
pub use keep::Keep;
pub use live::{Fired, Live};
pub use naming::{Naming, naming};
pub use profile::{
    CLR_PROVIDER, DEFAULT_PROFILES, PROFILES, Profile, ProfileProvider, ProfileRundown, SAMPLE_PROVIDER,
};
pub use provider::{level_name, parse_providers};
pub use record::{Recorded, record};
pub use selection::{Asked, Chosen, EnabledBy, Remark, Selection};
pub use stopping_event::StoppingEvent;
pub use syntax::SyntaxError;
pub use watch::Watch;
