//! Events of any provider, counted by a word of theirs and by their stack: half of a profiler, for those who have the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diagnostics_ipc::TraceRequest;
use event_session::{Going, Seen};
use model::{Cost, Frame, WindowEnd};
use runtime_events::RuntimeEvent;
use stacks::StackKey;

use crate::ProfilerError;
use crate::about::About;
use crate::capped::Capped;
use crate::events::{self, Stacks, Watched, Watcher};
use crate::profiler::{Answer, Run};

/// What came of it.
#[derive(Clone, Debug)]
pub struct EventStacks {
    /// A word, the stack with names, innermost frame first, and how many events had both; the most frequent first.
    pub counts: Vec<(String, Vec<Frame>, u64)>,
    /// How long was looked.
    pub measured: Duration,
    /// Why it ended.
    pub end: WindowEnd,
    /// What it cost.
    pub cost: Cost,
    /// What a reader must know to trust the numbers.
    pub notes: Vec<String>,
}

struct Counting<F> {
    word: F,
    counts: Capped<(String, Option<StackKey>), u64>,
}

impl<F: Fn(&Seen<'_>) -> Option<String> + Send> Counting<F> {
    fn count(&mut self, seen: &Seen<'_>, stacks: &mut Stacks) {
        if let Some(word) = (self.word)(seen) {
            *self.counts.entry((word, stacks.key(seen.event.stack))) += 1;
        }
    }
}

impl<F: Fn(&Seen<'_>) -> Option<String> + Send> Watcher for Counting<F> {
    fn event(&mut self, seen: &Seen<'_>, _: &RuntimeEvent<'_>, stacks: &mut Stacks) {
        self.count(seen, stacks);
    }

    fn other(&mut self, seen: &Seen<'_>, stacks: &mut Stacks) {
        self.count(seen, stacks);
    }
}

/// Runs a session and counts the events that have a word.
pub fn event_stacks(
    run: &Run<'_>,
    request: &TraceRequest,
    word: impl Fn(&Seen<'_>) -> Option<String> + Send,
) -> Result<EventStacks, ProfilerError> {
    let watched = events::watch(run, request, Counting { word, counts: Capped::default() })?;
    let frames = |stack: &Option<StackKey>| stack.map(|stack| watched.frames(stack)).unwrap_or_default();
    let sorted = watched.watcher.counts.sorted_by_key(|count| *count);
    let counts = sorted.into_iter().map(|((word, stack), count)| (word.clone(), frames(stack), *count));
    Ok(EventStacks {
        counts: counts.collect(),
        measured: watched.measured,
        end: watched.end,
        cost: watched.cost.clone(),
        notes: watched.notes.clone(),
    })
}

/// Sees the events of other providers than the runtime's own, each with a way to keep its stack.
pub trait OtherEvents: Send {
    /// An event, and whether more are wanted. `stack` gives the key of its stack, for [`Others::frames`].
    fn event(&mut self, seen: &Seen<'_>, stack: &mut dyn FnMut() -> Option<StackKey>) -> Going;
}

struct Showing<W> {
    watcher: W,
    enough: Arc<AtomicBool>,
}

impl<W: OtherEvents> Watcher for Showing<W> {
    fn event(&mut self, _: &Seen<'_>, _: &RuntimeEvent<'_>, _: &mut Stacks) {}

    fn other(&mut self, seen: &Seen<'_>, stacks: &mut Stacks) {
        if self.watcher.event(seen, &mut || stacks.key(seen.event.stack)) == Going::Stop {
            self.enough.store(true, Ordering::Release);
        }
    }
}

/// What came of a session of other providers' events.
pub struct Others<W>(Watched<Showing<W>>);

impl<W> Others<W> {
    /// The watcher with what it saw.
    pub fn watcher(&self) -> &W {
        &self.0.watcher.watcher
    }

    /// The frames of a stack with their names, innermost first.
    pub fn frames(&self, stack: StackKey) -> Vec<Frame> {
        self.0.frames(stack)
    }

    /// The session without its events: an answer that finds nothing.
    pub fn answer(&self, summary: String) -> Answer {
        let About { measured, end, cost, notes } = self.0.about();
        Answer {
            summary,
            findings: Vec::new(),
            sections: Vec::new(),
            notes,
            cost,
            measured,
            end,
            ..Answer::default()
        }
    }
}

/// Runs a session and shows the events of other providers than the runtime's own.
pub fn other_events<W: OtherEvents>(
    run: &Run<'_>,
    request: &TraceRequest,
    watcher: W,
) -> Result<Others<W>, ProfilerError> {
    let enough = Arc::new(AtomicBool::new(false));
    let showing = Showing { watcher, enough: Arc::clone(&enough) };
    let beside = |_| if enough.load(Ordering::Acquire) { Going::Stop } else { Going::On };
    events::watch_until(run, request, showing, beside).map(Others)
}
