//! Records the events of a runtime into `.nettrace` files.
//!
//! ```text
//!  --profile, --providers, --clrevents --> providers to ask for
//! ```
//!
//! It reads no events and names no code; that is what `nettrace` and `symbols` are for.
#![forbid(unsafe_code)]

mod clr_events;
mod condition;
mod copy;
mod error;
mod file;
mod keep;
mod live;
mod naming;
mod profile;
mod provider;
mod record;
mod selection;
mod stopping_event;
mod syntax;
mod watch;

pub use clr_events::{CLR_EVENTS, parse_clr_events};
pub use condition::{Condition, Gauge, Side};
pub use copy::{DEEPEST_STACK, StreamEnd, Tally};
pub use error::RecordingError;
pub use file::TraceFile;
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
