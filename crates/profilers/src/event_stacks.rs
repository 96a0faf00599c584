//! Events of any provider, counted by a word of theirs and by their stack: half of a profiler, for those who have the rest.

use std::time::Duration;

use diagnostics_ipc::TraceRequest;
use event_session::Seen;
use model::{Cost, Frame, WindowEnd};
use runtime_events::RuntimeEvent;
use stacks::StackKey;

use crate::ProfilerError;
use crate::capped::Capped;
use crate::events::{self, Stacks, Watcher};
use crate::profiler::Run;

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
