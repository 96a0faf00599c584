//! Outgoing HTTP calls and database commands: how many, how slow, how many fail.

use std::time::Duration;

use facts::CallsKind;
use serde::{Deserialize, Serialize};

/// A call that people wait for is slow from here on, in nanoseconds.
pub const SLOW_NS: u64 = 1_000_000_000;
/// Failed calls below which they are chance, as those of a program that has just started.
pub const MIN_FAILURES: u64 = 5;
/// One in so many calls that fails is too many.
pub const FAILING_ONE_IN: u64 = 10;

/// How many calls were made and how they went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Calls that began.
    pub begun: u64,
    /// Of these, those that ended.
    pub ended: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// Time of all of them together, as far as it lies in the window.
    pub total_ns: u64,
    /// Calls that took longer than [`SLOW_NS`], or take that long already.
    pub slow: u64,
    /// Time of these.
    pub slow_ns: u64,
    /// Of the slow calls, those that ended, and their time: how long one takes.
    pub slow_ended: (u64, u64),
    /// The longest.
    pub longest_ns: u64,
}

impl Tally {
    /// Counts a call.
    pub fn add(&mut self, took_ns: u64, has_ended: bool, has_failed: bool) {
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
    pub fn sum(&mut self, other: &Tally) {
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
    #[must_use]
    pub fn slow_at_once(&self, window_ns: u64) -> f64 {
        self.slow_ns as f64 / (window_ns as f64).max(1.0)
    }

    /// Whether most of the time is lost in slow calls, so many of them at a time.
    #[must_use]
    pub fn is_slow(&self, kind: CallsKind, window_ns: u64) -> bool {
        self.slow_ns >= self.total_ns / 2 && self.slow_at_once(window_ns) >= least_at_once(kind)
    }

    /// Whether too many fail.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        self.failed >= MIN_FAILURES && self.failed * FAILING_ONE_IN >= self.ended
    }
}

/// Slow calls at a time, from which it is an illness. A single HTTP call may be a long poll, which is meant to wait; commands
/// are not, so a connection that hardly rests is enough. Calls that began before the session are not seen: a caller that
/// never rests counts as about two thirds.
fn least_at_once(kind: CallsKind) -> f64 {
    match kind {
        CallsKind::Http => 1.2,
        CallsKind::Database => 0.5,
    }
}

/// Calls of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Calls {
    /// How long was listened.
    pub window: Duration,
    /// Bytes that came.
    pub bytes: u64,
    /// Events that came.
    pub events: u64,
    /// Outgoing HTTP calls.
    pub http: Tally,
    /// Database commands.
    pub commands: Tally,
    /// Whether there were too many to go on.
    pub too_many: bool,
}

impl Calls {
    /// How long was listened, in nanoseconds.
    #[must_use]
    pub fn window_ns(&self) -> u64 {
        u64::try_from(self.window.as_nanos()).unwrap_or(u64::MAX)
    }
}
