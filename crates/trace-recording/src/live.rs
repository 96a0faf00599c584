//! What is known of a recording while it runs, for the thread that shows it and decides.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A condition that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    /// Which one.
    pub condition: String,
    /// What was seen.
    pub seen: String,
}

/// What is known of a recording while it runs.
#[derive(Debug, Default)]
pub struct Live {
    events: AtomicU64,
    lost: AtomicU64,
    bytes: AtomicU64,
    failed: AtomicBool,
    stopping: AtomicBool,
    fired: Mutex<Option<Fired>>,
    warnings: Mutex<Vec<String>>,
}

impl Live {
    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Events lost so far.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Bytes that are kept so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether it cannot be written any more, so that there is no point in going on.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Whether the event came that ends the recording.
    pub fn saw_stopping_event(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Takes the condition that holds, if one does.
    pub fn take_fired(&self) -> Option<Fired> {
        self.fired.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes what the user should be told.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn count(&self, events: u64, lost: u64, bytes: u64) {
        self.events.store(events, Ordering::Relaxed);
        self.lost.store(lost, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Release);
    }

    pub(crate) fn stopping_event_seen(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    pub(crate) fn fire(&self, fired: Fired) {
        // The first one is the reason; what follows from it is not.
        self.fired.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fired);
    }

    pub(crate) fn warn(&self, warning: String) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
    }
}
