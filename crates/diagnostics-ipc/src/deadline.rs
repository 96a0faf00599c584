//! One moment by which a whole operation must be over, however many reads it takes.

use std::time::{Duration, Instant};

/// The moment by which an operation must be over.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    started: Instant,
    end: Instant,
}

impl Deadline {
    /// A deadline `timeout` from now.
    #[must_use]
    pub fn after(timeout: Duration) -> Self {
        let started = Instant::now();
        // A timeout beyond what the clock can hold is "for ever"; a year serves.
        let end = started.checked_add(timeout).unwrap_or(started + Duration::from_secs(366 * 24 * 3600));
        Deadline { started, end }
    }

    /// What is left, or `None` when the time is up. Never zero, because a socket timeout of zero means none.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// How long the operation has taken so far.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.started.elapsed()
    }
}
