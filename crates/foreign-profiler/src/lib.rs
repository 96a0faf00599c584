//! A profiler that is not ours, for tests: what a monitoring product loads when a program starts.
//!
//! ```text
//!  CORECLR_PROFILER --> DllGetClassObject (sys.rs) --> Foreign: exceptions, compilations, collections, threads
//!                                                          +--> counts, in the file that FOREIGN_PROFILER_COUNTS names
//! ```
//!
//! It takes the main place with the flags that such products ask for and keeps it. Its counts say whether it is
//! still told of everything while, and after, our agent was there.
#![deny(unsafe_code)]

mod counts;
#[expect(unsafe_code, reason = "the one function that the library exports")]
mod sys;

use std::path::PathBuf;
use std::sync::Arc;

use clr_profiling::{Event, EventMask, Guid, HResult, Info, Profiler};

use counts::Counters;
pub use counts::Counts;

/// Its class, as the number that the id is written as.
pub const CLASS: u128 = 0x0D0C_70A9_5EED_4F0E_8F0E_0123_4567_89AB;
/// The variable that names the file for the counts.
pub const COUNTS_VARIABLE: &str = "FOREIGN_PROFILER_COUNTS";
/// Stacks, changed code (ReJIT), threads, collections, exceptions, compilations, loads of everything.
const MASK: EventMask = EventMask { low: 0x1004_02FE, high: 0 };

struct Foreign {
    counters: Arc<Counters>,
}

impl Profiler for Foreign {
    fn has(class: Guid) -> bool {
        class == Guid::new(CLASS)
    }

    fn create(class: Guid) -> Option<Self> {
        Self::has(class).then(|| Foreign { counters: Arc::default() })
    }

    fn notification_only(&self) -> bool {
        false
    }

    fn initialize(&self, info: Info) -> Result<(), HResult> {
        let file = std::env::var_os(COUNTS_VARIABLE).map(PathBuf::from).ok_or(HResult::E_INVALIDARG)?;
        info.set_event_mask(MASK)?;
        let counters = Arc::clone(&self.counters);
        let started = std::thread::Builder::new()
            .name("foreign-counts".into())
            .spawn(move || counters.write_for_ever(&file));
        started.map(drop).map_err(|_| HResult::E_FAIL)
    }

    /// It is one that comes when a program starts, or not at all.
    fn initialize_for_attach(&self, _: Info, _: &[u8]) -> Result<(), HResult> {
        Err(HResult::E_PROFILER_NOT_ATTACHABLE)
    }

    fn told(&self, event: Event) -> Result<(), HResult> {
        self.counters.add(event);
        Ok(())
    }
}
