//! Handles that are made and freed while we look, and by whom.

use std::collections::HashMap;

use event_session::Seen;
use gc_memory::{Handle, HandleKind as Told};
use model::Frame;
use runtime_events::handle::HandleKind;
use runtime_events::{HandleAddress, ObjectAddress, RuntimeEvent};
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

/// A handle that was made and not freed.
#[derive(Clone, Copy)]
struct Open {
    key: (HandleKind, Option<StackKey>),
    object: ObjectAddress,
}

/// While the session runs.
#[derive(Default)]
pub(super) struct Watch {
    made: Capped<(HandleKind, Option<StackKey>), Counts>,
    open: HashMap<HandleAddress, Open>,
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
                    if let Some(gone) = self.open.insert(made.handle, Open { key, object: made.object }) {
                        self.made.entry(gone.key).freed += 1;
                        self.older = self.older.saturating_sub(1);
                    }
                } else {
                    self.unfollowed += 1;
                }
            }
            RuntimeEvent::HandleDestroyed(freed) => match self.open.remove(&freed.handle) {
                Some(gone) => self.made.entry(gone.key).freed += 1,
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
    /// Strong and pinned handles that were made and not freed.
    pub(super) open: Vec<Handle>,
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
        Changes {
            makers: made.iter().map(maker).collect(),
            older: watch.older,
            unfollowed: watch.unfollowed,
            open: watch.open.iter().filter_map(|(at, open)| held(*at, *open)).collect(),
        }
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

/// A handle that holds its object.
fn held(at: HandleAddress, open: Open) -> Option<Handle> {
    let kind = match open.key.0 {
        HandleKind::Strong => Told::Strong,
        HandleKind::Pinned => Told::Pinned,
        _ => return None,
    };
    Some(Handle { kind, at: at.0, object: open.object.0, dependent: 0 })
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
