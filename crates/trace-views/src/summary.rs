//! What a trace holds, and what it does not.

use std::time::SystemTime;

use nettrace::{FormatVersion, Losses};

use crate::View;

/// How often a kind of event came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventCount {
    /// Who writes it.
    pub provider: String,
    /// Its number at its provider.
    pub id: u32,
    /// Its name, when known.
    pub name: Option<String>,
    /// How often it came.
    pub events: u64,
    /// How often with a stack.
    pub with_stack: u64,
}

/// How many events of a view there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewCount {
    /// The view.
    pub view: View,
    /// Its events.
    pub events: u64,
}

/// How many places in code have a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Different addresses in the collected stacks.
    pub addresses: u64,
    /// Those of them that belong to no method the trace tells of.
    pub unnamed: u64,
}

/// What a trace holds.
#[derive(Debug)]
pub struct Summary {
    /// The version of its format.
    pub version: FormatVersion,
    /// When it began, when known.
    pub started: Option<SystemTime>,
    /// From its start to its last event, without those that only say what was loaded at the end.
    pub duration_ns: u64,
    /// The process, when it is one.
    pub process: Option<u64>,
    /// The process's command line, when the trace says.
    pub command_line: Option<String>,
    /// The version of the runtime, when the trace says.
    pub runtime: Option<String>,
    /// Bytes up to the last block that was read.
    pub bytes: u64,
    /// All events.
    pub events: u64,
    /// By kind, the most frequent first.
    pub kinds: Vec<EventCount>,
    /// Views that have events, in the order of [`View::ALL`].
    pub views: Vec<ViewCount>,
    /// Threads that events were about.
    pub threads: usize,
    /// What the runtime or the reader had to drop.
    pub losses: Losses,
    /// Events whose payload is not as expected.
    pub undecodable: u64,
    /// Time of threads that no sample stands for, because rounds of samples were too far apart.
    pub unknown_ns: u64,
    /// Whether samples say if managed code ran. If not, the innermost method was asked.
    pub samples_tell: bool,
    /// Places in code, and how many have a name; of the collected stacks.
    pub names: Names,
    /// Where and how the trace is damaged or cut off, if it is.
    pub damage: Option<nettrace::Error>,
}

impl Summary {
    /// How many events a view has.
    #[must_use]
    pub fn count(&self, view: View) -> u64 {
        self.views.iter().find(|count| count.view == view).map_or(0, |count| count.events)
    }
}
