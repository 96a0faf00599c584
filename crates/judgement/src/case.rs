//! What is judged.

use std::time::Duration;

use facts::{LookFacts, Observation, Stack, StillThread};
use serde::{Deserialize, Serialize};

use crate::signs::Signs;

/// All that is judged: it can be written to a file, and judged again without the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Case {
    /// Whose case it is.
    pub subject: Subject,
    /// The vital signs.
    pub signs: Signs,
    /// The closer looks that were taken, in the order in which they ended.
    pub looks: Vec<Look>,
    /// Those that the signs called for, and that were not taken, or not to their end.
    pub untaken: Vec<Untaken>,
}

/// What is known of the process beside its signs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Subject {
    /// Major version of its runtime, when known.
    pub runtime: Option<u32>,
    /// How long it has been running, when known.
    pub uptime: Option<Duration>,
}

/// One closer look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Look {
    /// Which.
    pub id: String,
    /// What it found.
    pub found: Vec<Observation>,
    /// What it saw besides.
    pub facts: LookFacts,
    /// Whether it was ended before it was done: then what it did not find may still be there.
    pub cut_short: bool,
}

/// A closer look that was not taken, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untaken {
    /// Which.
    pub look: String,
    /// Why not.
    pub why: WhyUntaken,
}

/// Why a closer look was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyUntaken {
    /// It would stop the program for longer than it may without leave.
    NeedsLeave,
    /// No time was left, for it or for all of it.
    NoTime,
    /// The user wanted the report.
    EndedEarly,
    /// The container has too little memory left for it.
    NoMemory,
    /// The runtime may not end what it begins to report of its heap.
    HeapMayNotCome,
    /// It failed.
    Failed,
}

impl Case {
    /// Whether more could be seen with leave to stop the program for longer.
    #[must_use]
    pub fn wants_leave(&self) -> bool {
        self.untaken.iter().any(|untaken| untaken.why == WhyUntaken::NeedsLeave)
    }

    /// A look, if it was taken.
    #[must_use]
    pub fn look(&self, id: &str) -> Option<&Look> {
        self.looks.iter().find(|look| look.id == id)
    }

    /// Whether a look was taken to its end: then what it did not find is not there.
    #[must_use]
    pub fn has_look(&self, id: &str) -> bool {
        self.looks.iter().any(|look| look.id == id && !look.cut_short)
    }

    /// Stacks of threads that used a processor, weighed by their time.
    #[must_use]
    pub fn running(&self) -> &[Stack] {
        running(&self.looks)
    }

    /// Threads that stand still for ever.
    pub fn still(&self) -> impl Iterator<Item = &StillThread> {
        self.looks.iter().flat_map(|look| &look.facts.still)
    }

    /// The part of the process's processor time, in per cent of what it could use.
    #[must_use]
    pub fn cpu_share(&self) -> f64 {
        let used = self.signs.system.as_ref().map_or(0.0, crate::signs::System::cpu_percent);
        let processors = self.signs.processors();
        if processors.is_finite() && processors > 0.0 {
            (used / processors).min(100.0)
        } else {
            used.min(100.0)
        }
    }
}

/// Stacks of threads that used a processor.
pub(crate) fn running(looks: &[Look]) -> &[Stack] {
    looks.iter().find(|look| look.id == "cpu").map_or(&[], |look| &look.facts.running)
}
