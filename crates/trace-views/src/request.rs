//! What is wanted of a trace.

use std::str::FromStr;

use crate::View;

/// Which stacks to collect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Thread time if there is any, else the view with most events.
    Best,
    /// This view.
    View(View),
    /// Every event of this name, by count.
    Event(EventName),
    /// None: only what is in the trace.
    Summary,
}

/// How much of each sample is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// When each was.
    TimeLine,
    /// Only how much each stack of each thread weighs, in one sample with the time of the first.
    Totals,
}

/// Whether a method is one frame or one for each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// One frame.
    Merged,
    /// One for each line, where lines are known.
    Apart,
}

/// What is wanted of a trace.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which stacks.
    pub wanted: Wanted,
    /// How much of each sample.
    pub detail: Detail,
    /// How much of each frame.
    pub lines: Lines,
    /// Only this thread, as the operating system numbers it.
    pub thread: Option<u64>,
}

impl Request {
    /// All threads, one frame for each method.
    #[must_use]
    pub fn new(wanted: Wanted, detail: Detail) -> Request {
        Request { wanted, detail, lines: Lines::Merged, thread: None }
    }
}

/// An event by its provider and its name or number: `Microsoft-Windows-DotNETRuntime/80`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventName {
    /// Who writes it.
    pub provider: String,
    /// Its name or number.
    pub event: String,
}

/// Not a provider and an event.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not PROVIDER/EVENT, where EVENT is a name or a number")]
pub struct EventNameError(String);

impl FromStr for EventName {
    type Err = EventNameError;

    fn from_str(text: &str) -> Result<EventName, EventNameError> {
        // Names of events may have a slash (`GC/Start`), names of providers do not.
        match text.split_once('/') {
            Some((provider, event)) if !provider.is_empty() && !event.is_empty() => {
                Ok(EventName { provider: provider.to_owned(), event: event.to_owned() })
            }
            _ => Err(EventNameError(text.to_owned())),
        }
    }
}

impl std::fmt::Display for EventName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_provider_and_a_name() {
        let name: EventName = "My-Provider/GC/Start".parse().unwrap();
        assert_eq!((name.provider.as_str(), name.event.as_str()), ("My-Provider", "GC/Start"));
        for wrong in ["", "x", "/x", "x/"] {
            assert!(wrong.parse::<EventName>().is_err(), "{wrong}");
        }
    }
}
