//! Calls to other services: outgoing HTTP calls and database commands, as the client libraries tell of them.
//!
//! ```text
//! client library --> DiagnosticListener or ActivitySource --> bridge (an event source) --> session --> Told --> Tracker --> Call
//! ```
//!
//! The runtime has an event source, the bridge, that passes on what libraries tell listeners within the process: exactly those
//! notes, and those parts of them, that its argument names. It works on .NET Core 3.1, too.

mod libraries;
mod told;
mod tracking;

pub(crate) use libraries::{Detail, Kind, is_between, provider};
pub(crate) use told::{Edge, read};
pub(crate) use tracking::{Call, Tracker};
#[cfg(test)]
pub(crate) use {told::Whom, tracking::Ended};

/// A call that people wait for is slow from here on, in nanoseconds.
pub(crate) const SLOW_NS: u64 = 1_000_000_000;
/// Failed calls below which they are chance, as those of a program that has just started.
pub(crate) const LEAST_FAILURES: u64 = 5;
/// One in so many calls that fails is too many.
pub(crate) const FAILING_ONE_IN: u64 = 10;

/// How many calls were made and how they went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Calls that began.
    pub(crate) begun: u64,
    /// Of these, those that ended.
    pub(crate) ended: u64,
    /// Of these, those that failed.
    pub(crate) failed: u64,
    /// Time of all of them together, as far as it lies in the window.
    pub(crate) total_ns: u64,
    /// Calls that took longer than [`SLOW_NS`], or take that long already.
    pub(crate) slow: u64,
    /// Time of these.
    pub(crate) slow_ns: u64,
    /// Of the slow calls, those that ended, and their time: how long one takes.
    pub(crate) slow_ended: (u64, u64),
    /// The longest.
    pub(crate) longest_ns: u64,
}

impl Tally {
    /// Counts a call.
    pub(crate) fn add(&mut self, took_ns: u64, has_ended: bool, has_failed: bool) {
        let is_slow = took_ns >= SLOW_NS;
        self.sum(&Tally {
            begun: 1,
            ended: u64::from(has_ended),
            failed: u64::from(has_failed),
            total_ns: took_ns,
            slow: u64::from(is_slow),
            slow_ns: if is_slow { took_ns } else { 0 },
            slow_ended: if is_slow && has_ended { (1, took_ns) } else { (0, 0) },
            longest_ns: took_ns,
        });
    }

    /// Adds others.
    pub(crate) fn sum(&mut self, other: &Tally) {
        self.begun += other.begun;
        self.ended += other.ended;
        self.failed += other.failed;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.slow += other.slow;
        self.slow_ns = self.slow_ns.saturating_add(other.slow_ns);
        self.slow_ended.0 += other.slow_ended.0;
        self.slow_ended.1 = self.slow_ended.1.saturating_add(other.slow_ended.1);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }

    /// Slow calls that are under way at a time.
    pub(crate) fn slow_at_once(&self, window_ns: u64) -> f64 {
        self.slow_ns as f64 / (window_ns as f64).max(1.0)
    }

    /// Whether most of the time is lost in slow calls, so many of them at a time.
    pub(crate) fn is_slow(&self, kind: Kind, window_ns: u64) -> bool {
        self.slow_ns >= self.total_ns / 2 && self.slow_at_once(window_ns) >= kind.least_at_once()
    }

    /// Whether too many fail.
    pub(crate) fn is_failing(&self) -> bool {
        self.failed >= LEAST_FAILURES && self.failed * FAILING_ONE_IN >= self.ended
    }
}
