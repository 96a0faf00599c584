//! How long the pause will be, from what can be known without touching the target.
//!
//! The pause depends on the number of objects, which nobody tells beforehand. What is known is the memory of the process
//! that is no file's: the heap is within it. The range goes from a few large arrays to a heap full of small objects that
//! refer to each other.

use std::time::Duration;

use discovery::DotnetProcess;
use process_view::Process;

use crate::take::Way;

/// Stopping and starting threads, on any heap.
const LEAST: Duration = Duration::from_millis(5);

/// Milliseconds for each megabyte of heap, at best and at worst.
fn rates(way: Way) -> (f64, f64) {
    match way {
        // 18 million objects in 793 MB took 3.4 s: 4.3 ms for each megabyte.
        Way::Events | Way::AgentEvents => (0.2, 5.0),
        // 23 ms for a million objects with their references, some 40 bytes each.
        Way::Walk => (0.05, 0.8),
    }
}

/// The most that the heap of a process can take, in bytes: its memory without that of files. Nothing when `/proc` does not
/// show the process.
#[must_use]
pub fn heap_at_most(process: &DotnetProcess) -> Option<u64> {
    let status = process.visible.then(|| Process::new(process.pid).status().ok())?;
    status.and_then(|status| status.anonymous_bytes).or(process.memory)
}

/// The pause to be expected of a heap of at most so many bytes: between the first and the second.
#[must_use]
pub fn estimated_pause(way: Way, heap_bytes: u64) -> (Duration, Duration) {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let megabytes = heap_bytes as f64 / f64::from(1 << 20);
    let at = |rate: f64| LEAST + Duration::from_secs_f64((megabytes * rate / 1e3).min(86_400.0));
    let (fastest, slowest) = rates(way);
    (at(fastest), at(slowest))
}
