//! Records the events of a runtime into `.nettrace` files.
//!
//! ```text
//!  --profile, --providers, --clrevents --> providers to ask for
//! ```
//!
//! It reads no events and names no code; that is what `nettrace` and `symbols` are for.
#![forbid(unsafe_code)]

mod profile;

pub use profile::{
    CLR_PROVIDER, DEFAULT_PROFILES, PROFILES, Profile, ProfileProvider, ProfileRundown, SAMPLE_PROVIDER,
};
