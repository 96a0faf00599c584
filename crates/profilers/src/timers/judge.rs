//! Two looks at the timers, and what of them is an illness.

use std::time::Duration;

use model::Frame;

use crate::blame;

/// What a timer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// Calls a method.
    Call,
    /// Raises an event that calls a method.
    Elapsed,
    /// Ends a `Task.Delay`.
    Delay,
    /// Cancels something that takes too long.
    Cancel,
    /// Ticks for a `PeriodicTimer`.
    Tick,
}

impl Kind {
    pub(super) fn words(self) -> &'static str {
        match self {
            Kind::Call => "Timer",
            Kind::Elapsed => "Timers.Timer",
            Kind::Delay => "Task.Delay",
            Kind::Cancel => "CancelAfter",
            Kind::Tick => "PeriodicTimer",
        }
    }

    /// Whether each request of a busy server may well have one.
    fn is_ordinary(self) -> bool {
        matches!(self, Kind::Delay | Kind::Cancel)
    }
}

/// Timers that do the same, with the same period.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) kind: Kind,
    /// The method that is called or that awaits, or the type of the object whose method it is.
    pub(super) frame: Frame,
    /// Whether the frame is a method.
    pub(super) method: bool,
    /// In milliseconds; none fires once.
    pub(super) period: Option<u32>,
    /// The type of what the callback is given.
    pub(super) state: Option<String>,
    /// The shortest and the longest time that one is set to, in milliseconds.
    pub(super) due: (u32, u32),
    pub(super) before: u64,
    pub(super) now: u64,
}

/// What was seen in both looks.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Most timers first.
    pub(super) groups: Vec<Group>,
    /// Between the looks.
    pub(super) window: Duration,
    /// Forced for it.
    pub(super) collections: u32,
    /// Objects that had moved before they could be read.
    pub(super) moved: u32,
    /// Timers that were more than could be read.
    pub(super) unread: u64,
    /// Whether timers are laid out as we know them.
    pub(super) understood: bool,
}

/// Why timers are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They become more.
    Grows,
    /// They are simply many.
    Many,
}

/// Of so many times more timers an ordinary kind is called ill.
const ORDINARY: u64 = 10;
/// A group that grows has at least so many,
const LEAST_GROWING: u64 = 100;
/// and grew by so many.
const LEAST_GROWTH: u64 = 20;
/// It grew by one of so many at least.
const SHARE: u64 = 50;

impl Group {
    pub(super) fn growth(&self) -> u64 {
        self.now.saturating_sub(self.before)
    }

    /// Whether there are too many of them, if `least` are many.
    pub(super) fn verdict(&self, least: u64) -> Option<Verdict> {
        let least = if self.kind.is_ordinary() { least.saturating_mul(ORDINARY) } else { least };
        let grows = self.growth() >= LEAST_GROWTH && self.growth() >= self.now / SHARE;
        // Timers of .NET itself and waits come and go with the load: that they become more within seconds is no sign.
        let own = !self.kind.is_ordinary() && blame::is_own(&self.frame);
        if grows && self.now >= LEAST_GROWING && own || grows && self.now >= least {
            return Some(Verdict::Grows);
        }
        (self.now >= least).then_some(Verdict::Many)
    }
}

impl Seen {
    pub(super) fn before(&self) -> u64 {
        self.groups.iter().map(|group| group.before).sum()
    }

    pub(super) fn now(&self) -> u64 {
        self.groups.iter().map(|group| group.now).sum()
    }
}
