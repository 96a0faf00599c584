//! Records where .NET processes spend their time: samples of the kernel, names of the runtime.
//!
//! ```text
//! Request --> names: a session that stays, and one whose names come at once --+
//!        |                                                                    +--> finish --> Recorded
//!        +--> perf-sampler --> kernel-profile: stacks, walked as they come ---+
//! ```
//!
//! **In:** processes, which time of them, a rate. **Out:** [`Recorded`]: for each process its profiles, how good they are,
//! and what all of it cost.
//!
//! Names are there before the first sample: one session listens to code that comes and goes, a second one is opened and
//! stopped at once, for the runtime tells of all its code when a session ends. So a process that dies in the middle has
//! names, and a live view has them too. Framework code that is first called later is told of by neither; if such code was
//! sampled, the runtime is asked once more at the end.
//!
//! Threads that were parked before the recording began, and waits that last and have no stack, are looked at from outside
//! while they wait: see `docs/kernel-profiles.md`, "Time off the CPU".
//!
//! It judges nothing, prints nothing and writes no file.
#![forbid(unsafe_code)]

mod behalf;
mod children;
mod collecting;
mod looks;
mod names;
mod request;
mod threads;

pub use collecting::{Collecting, Recorded, RecordedProcess};
pub use names::{NamesFailure, Naming, SharedCode};
pub use request::{NamesFirst, Request, Target};
pub use threads::ThreadClock;
