//! The views: which events, what they weigh.

use stacks::Weight;

/// A way to look at a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum View {
    /// Where threads spent their time, working or waiting.
    ThreadTime,
    /// The same without the time outside managed code, which is mostly waiting.
    ManagedTime,
    /// Where memory was allocated.
    Allocations,
    /// Where threads waited for locks.
    Contention,
    /// Where threads waited for anything but locks (.NET 9).
    Waits,
    /// Where exceptions were thrown.
    Exceptions,
}

impl View {
    /// All of them; the one that says most comes first.
    pub const ALL: &[View] = &[
        View::ThreadTime,
        View::ManagedTime,
        View::Allocations,
        View::Contention,
        View::Waits,
        View::Exceptions,
    ];

    /// What it is called on a command line.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            View::ThreadTime => "thread-time",
            View::ManagedTime => "managed-time",
            View::Allocations => "allocations",
            View::Contention => "contention",
            View::Waits => "waits",
            View::Exceptions => "exceptions",
        }
    }

    /// What it shows, in a few words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            View::ThreadTime => "thread time",
            View::ManagedTime => "time in managed code",
            View::Allocations => "allocated bytes",
            View::Contention => "time waiting for locks",
            View::Waits => "time waiting for handles",
            View::Exceptions => "exceptions thrown",
        }
    }

    /// What its events are called, in the plural.
    #[must_use]
    pub fn events(self) -> &'static str {
        match self {
            View::ThreadTime | View::ManagedTime => "samples",
            View::Allocations => "sampled allocations",
            View::Contention | View::Waits => "waits",
            View::Exceptions => "exceptions",
        }
    }

    /// What its weights count.
    #[must_use]
    pub fn weight(self) -> Weight {
        match self {
            View::ThreadTime | View::ManagedTime | View::Contention | View::Waits => Weight::Nanoseconds,
            View::Allocations => Weight::Bytes,
            View::Exceptions => Weight::Count,
        }
    }

    /// The view of this name, whatever the case.
    #[must_use]
    pub fn by_id(id: &str) -> Option<View> {
        View::ALL.iter().copied().find(|view| view.id().eq_ignore_ascii_case(id))
    }

    pub(crate) fn place(self) -> usize {
        self as usize
    }
}
