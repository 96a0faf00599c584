//! How long the pause will be, from what can be known without touching the target.

use std::time::Duration;

/// Milliseconds for each megabyte of resident memory, at best: large arrays, few references.
const FASTEST_MS_PER_MB: f64 = 0.2;
/// The same at worst: small objects that refer to each other.
const SLOWEST_MS_PER_MB: f64 = 8.0;
/// Stopping and starting threads, on any heap.
const LEAST: Duration = Duration::from_millis(5);

/// The pause to be expected of a process with so much resident memory: between the first and the second. The heap is
/// only a part of resident memory, and what counts is the number of objects, so the range is wide.
#[must_use]
pub fn estimated_pause(resident_bytes: u64) -> (Duration, Duration) {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let megabytes = resident_bytes as f64 / f64::from(1 << 20);
    let at = |rate: f64| LEAST + Duration::from_secs_f64((megabytes * rate / 1e3).min(86_400.0));
    (at(FASTEST_MS_PER_MB), at(SLOWEST_MS_PER_MB))
}
