//! Handles that are made and freed while we look, and by whom.

use std::collections::HashMap;

use event_session::Seen;
use model::Frame;
use runtime_events::handle::HandleKind;
use runtime_events::{HandleAddress, RuntimeEvent};
use stacks::StackKey;

use crate::blame::own_frame;
use crate::capped::Capped;
use crate::events::{Stacks, Watched, Watcher};

/// Most handles that are followed to their end: about 30 MB.
const MOST_FOLLOWED: usize = 500_000;

/// Counts of handles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) made: u64,
    /// Of those, how many were freed while we looked.
    pub(super) freed: u64,
}

impl Counts {
    /// How many of those that were made are still there.
    pub(super) fn left(self) -> u64 {
        self.made.saturating_sub(self.freed)
    }
}

/// While the session runs.
#[derive(Default)]
pub(super) struct Watch {
    made: Capped<(HandleKind, Option<StackKey>), Counts>,
    open: HashMap<HandleAddress, (HandleKind, Option<StackKey>)>,
    /// Handles that were freed and made before.
    older: u64,
    /// Handles that are not followed, because there are too many.
    unfollowed: u64,
}

impl Watcher for Watch {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, stacks: &mut Stacks) {
        match event {
            RuntimeEvent::HandleCreated(made) => {
                let key = (made.kind, stacks.key(seen.event.stack));
                self.made.entry(key).made += 1;
                if self.open.len() < MOST_FOLLOWED {
                    // The free of one that has this address again came from another thread, and comes late.
                    if let Some(gone) = self.open.insert(made.handle, key) {
                        self.made.entry(gone).freed += 1;
                        self.older = self.older.saturating_sub(1);
                    }
                } else {
                    self.unfollowed += 1;
                }
            }
            RuntimeEvent::HandleDestroyed(freed) => match self.open.remove(&freed.handle) {
                Some(key) => self.made.entry(key).freed += 1,
                None => self.older += 1,
            },
            _ => {}
        }
    }
}

/// Who makes handles of a kind.
#[derive(Clone, Debug)]
pub(super) struct Maker {
    pub(super) kind: HandleKind,
    /// Innermost first.
    pub(super) frames: Vec<Frame>,
    pub(super) counts: Counts,
}

impl Maker {
    /// The method of the program's own that makes them.
    pub(super) fn method(&self) -> Option<&Frame> {
        own_frame(&self.frames)
    }
}

/// What came and went.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    /// By kind and stack; those that left most behind first.
    pub(super) makers: Vec<Maker>,
    /// Handles that were freed and made before we looked; of which kind is not told.
    pub(super) older: u64,
    /// Handles that were not followed to their end.
    pub(super) unfollowed: u64,
}

impl Changes {
    pub(super) fn of(watched: &Watched<Watch>) -> Changes {
        let watch = &watched.watcher;
        let made = watch.made.sorted_by_key(|counts| (counts.left(), counts.made));
        let maker = |((kind, stack), counts): &(&(HandleKind, Option<StackKey>), &Counts)| Maker {
            kind: *kind,
            frames: stack.map(|stack| watched.frames(stack)).unwrap_or_default(),
            counts: **counts,
        };
        Changes { makers: made.iter().map(maker).collect(), older: watch.older, unfollowed: watch.unfollowed }
    }

    /// Of all makers of a kind together.
    pub(super) fn of_kind(&self, kind: HandleKind) -> Counts {
        let mut sum = Counts::default();
        for maker in self.makers.iter().filter(|maker| maker.kind == kind) {
            sum.made += maker.counts.made;
            sum.freed += maker.counts.freed;
        }
        sum
    }
}

/// A kind in words.
pub(super) fn words(kind: HandleKind) -> &'static str {
    match kind {
        HandleKind::WeakShort => "weak",
        HandleKind::WeakLong => "weak, tracks resurrection",
        HandleKind::Strong => "strong",
        HandleKind::Pinned => "pinned",
        HandleKind::Variable => "variable",
        HandleKind::RefCounted => "counted references",
        HandleKind::Dependent => "dependent",
        HandleKind::AsyncPinned => "pinned for I/O",
        HandleKind::SizedRef => "sized reference",
        _ => "other",
    }
}
