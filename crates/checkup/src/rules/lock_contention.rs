//! `lock-contention`: threads queue for a lock.
//!
//! For: time waited for one lock that is a large part of the window. Against: locks that are held for microseconds, however often
//! they are wanted, and threads that wait because processors are missing.

use super::{Case, Verdict};

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let waited = case.signs.told().map_or(0.0, |told| told.lock_waited_ns);
    let window = case.signs.window.as_nanos() as f64;
    // Of the threads' time, several of which may wait at once.
    let cost = (waited / window.max(1.0) * 100.0).clamp(10.0, 90.0);
    case.adopt("lock-contention", cost)
}
