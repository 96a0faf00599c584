//! What a trace does not have, although it should.

use std::collections::BTreeMap;

use crate::ThreadId;
use crate::limits::MAX_THREADS;

/// What was lost until now; the last word is the one after the stream's end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Events that threads tried to write and that are not in the stream.
    pub events: u64,
    /// Events that refer to a stack that is not in the stream.
    pub stacks_missing: u64,
    /// Stacks that were not kept for want of room ([`MAX_STACK_BYTES`](crate::limits::MAX_STACK_BYTES)).
    pub stacks_forgotten: u64,
    /// Label lists that were not kept for want of room ([`MAX_LABEL_BYTES`](crate::limits::MAX_LABEL_BYTES)).
    pub labels_forgotten: u64,
    /// Events of a kind the stream does not describe; they are not handed out.
    pub events_without_metadata: u64,
    /// Kinds of events that were not kept for want of room.
    pub metadata_forgotten: u64,
    /// Times a thread wrote whose sequence numbers were not followed for want of room.
    pub threads_untracked: u64,
    /// Blocks of a kind this reader does not know, which were passed over.
    pub blocks_unknown: u64,
    by_thread: BTreeMap<ThreadId, u64>,
}

impl Losses {
    /// How many events each thread lost, in the order of their ids.
    pub fn by_thread(&self) -> impl Iterator<Item = (ThreadId, u64)> {
        self.by_thread.iter().map(|(thread, events)| (*thread, *events))
    }

    /// Whether nothing was lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Losses::default()
    }

    pub(crate) fn add_events(&mut self, thread: ThreadId, events: u32) {
        self.events = self.events.saturating_add(u64::from(events));
        if let Some(lost) = self.by_thread.get_mut(&thread) {
            *lost = lost.saturating_add(u64::from(events));
        } else if self.by_thread.len() < MAX_THREADS {
            self.by_thread.insert(thread, u64::from(events));
        }
    }
}
