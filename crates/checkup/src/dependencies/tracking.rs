//! From beginnings and ends to calls.

use std::collections::HashMap;

use facts::CallsKind;
use judgement::signs::Tally;

use super::call_event::{CallEvent, Edge, Whom};

/// Calls that are known at once; a program with more is not listened to for the rest.
const MAX_OPEN: usize = 100_000;

/// A call that has ended, or is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call<B> {
    pub(crate) kind: CallsKind,
    pub(crate) library: usize,
    /// What was kept when it began.
    pub(crate) begun: B,
    pub(crate) whom: Whom,
    pub(crate) took_ns: u64,
    /// How it failed and what the exception says, if it did; `None` while it is under way.
    pub(crate) end: Option<Ended>,
}

/// How a call ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) failure: Option<String>,
    pub(crate) message: model::TargetText,
}

impl<B> Call<B> {
    /// Counts it.
    pub(crate) fn count(&self, tally: &mut Tally) {
        let failed = self.end.as_ref().is_some_and(|end| end.failure.is_some());
        tally.add(self.took_ns, self.end.is_some(), failed);
    }
}

enum Half<B> {
    Begun {
        at_ns: u64,
        begun: B,
        whom: Whom,
    },
    /// An end may come first: events are in the order of time only within one thread.
    Ended {
        at_ns: u64,
        end: Ended,
        whom: Whom,
    },
}

/// Finds the two halves of calls.
pub(crate) struct Tracker<B> {
    halves: HashMap<(CallsKind, usize, String), Half<B>>,
}

impl<B> Default for Tracker<B> {
    fn default() -> Self {
        Tracker { halves: HashMap::new() }
    }
}

impl<B> Tracker<B> {
    /// One half of a call. `begun` is only asked for when it begins. The call, when this was its second half.
    pub(crate) fn take(
        &mut self,
        event: CallEvent,
        at_ns: u64,
        begun: impl FnOnce() -> B,
    ) -> Option<Call<B>> {
        let CallEvent { kind, library, id, edge, whom, message } = event;
        let key = (kind, library, id);
        let half = match edge {
            Edge::Begin => Half::Begun { at_ns, begun: begun(), whom },
            Edge::End(failure) => Half::Ended { at_ns, end: Ended { failure, message }, whom },
            Edge::Complaint => return None,
        };
        match (self.halves.remove(&key), half) {
            (Some(Half::Begun { at_ns: from, begun, whom }), Half::Ended { at_ns: to, end, whom: later })
            | (Some(Half::Ended { at_ns: to, end, whom: later }), Half::Begun { at_ns: from, begun, whom }) =>
            {
                let took_ns = to.saturating_sub(from);
                let whom = if whom.place.is_empty() { later } else { whom };
                Some(Call { kind, library, begun, whom, took_ns, end: Some(end) })
            }
            (_, half) => {
                if self.halves.len() < MAX_OPEN {
                    self.halves.insert(key, half);
                }
                None
            }
        }
    }

    /// The calls that are under way at a moment.
    pub(crate) fn under_way(&self, now_ns: u64) -> impl Iterator<Item = Call<B>>
    where
        B: Clone,
    {
        self.halves.iter().filter_map(move |((kind, library, _), half)| match half {
            Half::Begun { at_ns, begun, whom } => Some(Call {
                kind: *kind,
                library: *library,
                begun: begun.clone(),
                whom: whom.clone(),
                took_ns: now_ns.saturating_sub(*at_ns),
                end: None,
            }),
            Half::Ended { .. } => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: &str, edge: Edge) -> CallEvent {
        CallEvent {
            kind: CallsKind::Http,
            library: 0,
            id: id.to_owned(),
            edge,
            whom: Whom::default(),
            message: model::TargetText::default(),
        }
    }

    #[test]
    fn halves_meet_in_either_order() {
        let mut tracker = Tracker::default();
        assert_eq!(tracker.take(event("a", Edge::Begin), 10, || 1), None);
        assert_eq!(tracker.take(event("b", Edge::End(None)), 90, || 2), None);
        assert_eq!(tracker.take(event("c", Edge::Begin), 50, || 3), None);
        let ended = tracker.take(event("a", Edge::End(Some("Faulted".to_owned()))), 40, || 4).unwrap();
        assert_eq!((ended.took_ns, ended.begun), (30, 1));
        let other = tracker.take(event("b", Edge::Begin), 20, || 5).unwrap();
        assert_eq!((other.took_ns, other.begun), (70, 5));
        let mut tally = Tally::default();
        ended.count(&mut tally);
        other.count(&mut tally);
        assert_eq!((tally.begun, tally.ended, tally.failed), (2, 2, 1));
        let open: Vec<_> = tracker.under_way(60).collect();
        assert_eq!(open.len(), 1);
        assert_eq!((open[0].took_ns, open[0].begun, open[0].end.is_none()), (10, 3, true));
    }

    #[test]
    fn slow_is_most_of_the_time() {
        let mut tally = Tally::default();
        for _ in 0..1000 {
            tally.add(1_000_000, true, false);
        }
        tally.add(1_400_000_000, true, false);
        tally.add(1_400_000_000, false, false);
        assert!(tally.is_slow(CallsKind::Database, 3_000_000_000));
        assert!(!tally.is_slow(CallsKind::Http, 3_000_000_000));
        assert!(!tally.is_failing());
    }
}
