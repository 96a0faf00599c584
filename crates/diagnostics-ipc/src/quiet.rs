//! When a runtime was last heard not to unload code.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Since when everybody who reaches a runtime by the same endpoint knows that it unloads no code.
#[derive(Debug, Default)]
pub struct Quiet(Mutex<Option<Instant>>);

impl Quiet {
    /// It was listened to until now: it unloaded nothing, or something.
    pub fn heard(&self, is_quiet: bool) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = is_quiet.then(Instant::now);
    }

    /// Whether it was quiet when it was last listened to, and that is no longer ago than this.
    pub fn within(&self, time: Duration) -> bool {
        let heard = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.is_some_and(|heard| heard.elapsed() <= time)
    }
}
