//! What the profilers share that look at the runtime's own samples: the stacks of all managed threads, taken about
//! every millisecond while the threads are stopped.
//!
//! ```text
//! samples --> stacks with weights --> Calls: methods, call tree
//!                                 --> Doing: does it run, or what does it wait for
//! suspend/restart events ---------> PauseMeter: what the sampler itself cost
//! ```

mod calls;
mod doing;
mod pauses;
mod roster;
mod sync_over_async;

use diagnostics_ipc::{Level, Provider};
use model::{Body, Section};
use runtime_events::{keyword, provider};

use crate::ratio::percent;

#[cfg(test)]
pub(crate) use calls::examples;
pub(crate) use calls::{Calls, Framework, MethodId};
pub(crate) use doing::{Doing, Doings, KindCount, Kinds, Mode, POOL_DISPATCH, plain, told_by};
pub(crate) use pauses::PauseMeter;
pub(crate) use roster::Roster;
pub(crate) use sync_over_async::{BlockedPool, sync_over_async};

/// The buffer in the target, in megabytes. A thousand stacks a second and thread need room when nobody reads for a
/// moment.
pub(crate) const BUFFER_MB: u32 = 64;

/// Whether a section has anything to show.
pub(crate) fn has_content(section: &Section) -> bool {
    match &section.body {
        Body::Table(table) => !table.rows.is_empty(),
        Body::Tree(tree) => !tree.roots.is_empty(),
        Body::Stacks(stacks) => !stacks.stacks.is_empty(),
        Body::Series(series) => !series.lines.is_empty(),
    }
}

/// How much of the time the sampler kept the process stopped.
pub(crate) fn pauses_note(stopped_ns: u64, window_ns: u64) -> String {
    // The last pause may reach beyond the window.
    let share = percent(stopped_ns, window_ns).min(100.0);
    format!(
        "While it was looked at, the sampler kept the process stopped for up to {share:.0} % of the time."
    )
}

/// The runtime's sampler.
pub(crate) fn sampler() -> Provider {
    Provider::new(provider::SAMPLE_PROFILER, 0, Level::Informational)
}

/// The events by which the sampler's own pauses are measured: when threads were stopped, and when they went on.
pub(crate) fn suspensions() -> Provider {
    Provider::new(provider::RUNTIME, keyword::GC, Level::Informational)
}
