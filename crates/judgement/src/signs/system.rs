//! What /proc says of the process in the window: processors, threads, memory, descriptors.

use std::time::Duration;

use facts::Descriptors;
use serde::{Deserialize, Serialize};

/// A number at the moments of the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Course(pub Vec<u64>);

impl Course {
    /// The last one.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }

    /// How much it grew from the first to the last.
    #[must_use]
    pub fn growth(&self) -> u64 {
        self.last().saturating_sub(self.0.first().copied().unwrap_or(0))
    }

    /// How much of that came in the second half.
    #[must_use]
    pub fn growth_of_second_half(&self) -> u64 {
        self.last().saturating_sub(self.0.get(self.0.len() / 2).copied().unwrap_or(0))
    }

    /// Whether it went up more often than down: for memory, which collections make a little smaller now and then.
    #[must_use]
    pub fn mostly_grows(&self) -> bool {
        let steps = || self.0.windows(2).filter_map(|pair| pair.first().zip(pair.last()));
        let ups = steps().filter(|(before, after)| after > before).count();
        ups > steps().filter(|(before, after)| after < before).count() * 2
    }

    /// Whether it never went down, and went up in most steps: a leak rather than a wave.
    #[must_use]
    pub fn only_grows(&self) -> bool {
        let steps = || self.0.windows(2).filter_map(|pair| pair.first().zip(pair.last()));
        let ups = steps().filter(|(before, after)| after > before).count();
        steps().all(|(before, after)| after >= before) && ups * 2 > self.0.len().saturating_sub(1)
    }
}

/// What /proc says of the process in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct System {
    /// How long it was looked at.
    pub window: Duration,
    /// Processor time used, in nanoseconds.
    pub ran_ns: u64,
    /// Time in which its threads were ready but had no processor, in nanoseconds.
    pub ready_ns: u64,
    /// Of the processor time, that of threads that send events, to us or to others, where they have a name (.NET 5).
    pub for_us_ns: Option<u64>,
    /// Threads of the runtime that record events or send them to other tools.
    pub listeners: usize,
    /// The busiest thread, and what it used of one processor, in per cent.
    pub busiest: Option<(String, f64)>,
    /// Its threads.
    pub threads: Course,
    /// Resident memory.
    pub resident: Course,
    /// Open descriptors; empty if this user may not see them.
    pub open: Course,
    /// Open descriptors at the last moment.
    pub descriptors: Option<Descriptors>,
    /// Open files and sockets at the first moment.
    pub at_first: (u64, u64),
}

impl System {
    /// How many more files and sockets are open than at the start.
    #[must_use]
    pub fn opened(&self) -> (u64, u64) {
        let (files, sockets) = self.at_first;
        self.descriptors
            .as_ref()
            .map_or((0, 0), |open| (open.files.saturating_sub(files), open.sockets.saturating_sub(sockets)))
    }

    /// Processors used, in per cent of one.
    #[must_use]
    pub fn cpu_percent(&self) -> f64 {
        self.ran_ns as f64 / (self.window.as_nanos() as f64).max(1.0) * 100.0
    }

    /// How many of its threads waited for a processor at any time, on average.
    #[must_use]
    pub fn ready(&self) -> f64 {
        self.ready_ns as f64 / (self.window.as_nanos() as f64).max(1.0)
    }

    /// Of the time in which its threads could run, the part in which they had no processor, in per cent.
    #[must_use]
    pub fn starved_percent(&self) -> f64 {
        self.ready_ns as f64 / ((self.ready_ns + self.ran_ns) as f64).max(1.0) * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_is_no_wave() {
        assert!(Course(vec![10, 12, 14, 14, 17]).only_grows());
        assert!(!Course(vec![10, 12, 11, 14]).only_grows());
        assert!(!Course(vec![10, 10, 10, 11]).only_grows());
        assert!(!Course(vec![]).only_grows());
        assert_eq!(Course(vec![5, 9]).growth(), 4);
        assert_eq!(Course(vec![5, 9, 10, 11]).growth_of_second_half(), 1);
    }
}
