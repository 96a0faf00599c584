//! Who makes what is in the collector's way: methods that pin objects, and methods that allocate large ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diagnostics_ipc::{Level, Provider, TraceRequest};
use event_session::{Going, Seen};
use model::{Cost, Frame};
use runtime_events::allocation::AllocationKind;
use runtime_events::handle::HandleKind;
use runtime_events::{RuntimeEvent, keyword, provider};
use stacks::StackKey;

use crate::ProfilerError;
use crate::blame::own_frame;
use crate::capped::Capped;
use crate::events::{self, Stacks, Watched, Watcher};
use crate::profiler::Run;

/// Buffer in the target at most, in megabytes: the names of all code come in one burst at the end.
const BUFFER_MB: u32 = 32;
/// Longest look: handles are made a hundred thousand times a second by some programs, and each is told with its stack.
const LONGEST: Duration = Duration::from_secs(5);
/// Enough to name who makes them.
const ENOUGH: u64 = 2_000;

/// What is suspected to be in the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Suspicion {
    pub(super) pins: bool,
    pub(super) large: bool,
}

impl Suspicion {
    pub(super) fn any(self) -> bool {
        self.pins || self.large
    }
}

/// A method, how often it was seen, of how many, and for large objects their bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Maker {
    pub(super) frame: Frame,
    pub(super) weight: u64,
    pub(super) of: u64,
}

/// Who was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Makers {
    /// Who made most pinned handles.
    pub(super) pins: Option<Maker>,
    /// Who allocated most bytes of large objects.
    pub(super) large: Option<Maker>,
    pub(super) watched: Duration,
}

#[derive(Default)]
struct Watch {
    pins: Capped<Option<StackKey>, u64>,
    pins_seen: u64,
    /// Whether more would not say more.
    enough: Arc<AtomicBool>,
    large: Capped<Option<StackKey>, u64>,
}

impl Watcher for Watch {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, stacks: &mut Stacks) {
        match event {
            RuntimeEvent::HandleCreated(made)
                if matches!(made.kind, HandleKind::Pinned | HandleKind::AsyncPinned) =>
            {
                self.pins_seen += 1;
                if self.pins_seen <= ENOUGH {
                    *self.pins.entry(stacks.key(seen.event.stack)) += 1;
                } else {
                    self.enough.store(true, Ordering::Relaxed);
                }
            }
            RuntimeEvent::AllocationTick(tick) if tick.kind == AllocationKind::Large => {
                *self.large.entry(stacks.key(seen.event.stack)) += tick.allocated_bytes();
            }
            _ => {}
        }
    }
}

impl Makers {
    /// Watches for a few seconds.
    pub(super) fn watch(run: &Run<'_>, suspicion: Suspicion) -> Result<(Makers, Cost), ProfilerError> {
        let mut keywords = 0;
        let mut level = Level::Informational;
        if suspicion.pins {
            keywords |= keyword::GC_HANDLE;
        }
        if suspicion.large {
            keywords |= keyword::GC;
            level = Level::Verbose;
        }
        let request = TraceRequest::new(BUFFER_MB, vec![Provider::new(provider::RUNTIME, keywords, level)]);
        let short = LONGEST.min(run.duration);
        let enough = Arc::new(AtomicBool::new(false));
        let watch = Watch { enough: Arc::clone(&enough), ..Watch::default() };
        let watched = events::watch_until(run, &request, watch, |elapsed| {
            let is_enough = !suspicion.large && enough.load(Ordering::Relaxed);
            if elapsed >= short || is_enough { Going::Stop } else { Going::On }
        })?;
        let makers = Makers {
            pins: most(&watched, &watched.watcher.pins),
            large: most(&watched, &watched.watcher.large),
            watched: watched.measured,
        };
        Ok((makers, watched.cost.clone()))
    }
}

/// The method of the program's own code with the most.
fn most(watched: &Watched<Watch>, counts: &Capped<Option<StackKey>, u64>) -> Option<Maker> {
    let mut makers: Vec<Maker> = Vec::new();
    let mut of = 0;
    for (stack, count) in counts.sorted_by_key(|count| *count) {
        of += *count;
        let frames = stack.map(|stack| watched.frames(stack)).unwrap_or_default();
        let Some(frame) = own_frame(&frames) else { continue };
        match makers.iter_mut().find(|maker| maker.frame.name == frame.name) {
            Some(maker) => maker.weight += *count,
            None => makers.push(Maker { frame: frame.clone(), weight: *count, of: 0 }),
        }
    }
    makers.into_iter().max_by_key(|maker| maker.weight).map(|maker| Maker { of, ..maker })
}
