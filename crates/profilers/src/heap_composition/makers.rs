//! Who makes what is in the collector's way: methods that allocate what is pinned, and methods that allocate large objects.
//!
//! The runtime tells who pins without a stack. But it tells one allocation of 100 kB with its stack, and of that object whether
//! it is pinned later; where it tells sizes (.NET 6), an object of the type and size of those that are pinned counts as well.

use std::collections::HashMap;
use std::time::Duration;

use diagnostics_ipc::{Level, Provider, TraceRequest};
use event_session::{Going, Seen};
use heap_collector::readable;
use model::{Cost, Frame};
use runtime_events::allocation::{AllocationKind, AllocationTick};
use runtime_events::handle::HandleKind;
use runtime_events::{ObjectAddress, RuntimeEvent, keyword, provider};
use stacks::StackKey;

use crate::ProfilerError;
use crate::blame::own_frame;
use crate::capped::Capped;
use crate::events::{self, Stacks, Watched, Watcher};
use crate::profiler::Run;

/// Buffer in the target at most, in megabytes: the names of all code come in one burst at the end.
const BUFFER_MB: u32 = 32;
/// Longest look: each 100 kB that are allocated and each handle that is made are told.
const LONGEST: Duration = Duration::from_secs(5);
/// Allocations that may be pinned later.
const MOST_FRESH: usize = 10_000;

/// What is suspected to be in the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Suspicion {
    /// Pinned objects: the type of most of them, and the size of most of those.
    pub(super) pins: Option<(String, u64)>,
    /// Large objects.
    pub(super) large: bool,
}

impl Suspicion {
    pub(super) fn any(&self) -> bool {
        self.pins.is_some() || self.large
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
    /// Who allocated most of the objects that are pinned.
    pub(super) pins: Option<Maker>,
    /// Who allocated most bytes of large objects.
    pub(super) large: Option<Maker>,
    pub(super) watched: Duration,
}

#[derive(Default)]
struct Watch {
    suspicion: Suspicion,
    /// Who allocated objects that were pinned while we watched.
    pinned: Capped<Option<StackKey>, u64>,
    /// Who allocated objects that look like those that are pinned.
    alike: Capped<Option<StackKey>, u64>,
    large: Capped<Option<StackKey>, u64>,
    fresh: HashMap<ObjectAddress, Option<StackKey>>,
}

impl Watch {
    fn allocated(&mut self, tick: &AllocationTick<'_>, stack: Option<StackKey>) {
        if tick.kind == AllocationKind::Large {
            *self.large.entry(stack) += tick.allocated_bytes();
        }
        let Some((type_name, bytes)) = &self.suspicion.pins else { return };
        if let Some(object) = tick.object {
            if self.fresh.len() >= MOST_FRESH {
                self.fresh.clear();
            }
            self.fresh.insert(object, stack);
        }
        let is_type = tick.type_name.is_some_and(|name| readable(&name.to_string()) == *type_name);
        if is_type && tick.object_bytes.is_some_and(|size| size.next_multiple_of(8) == bytes.next_multiple_of(8)) {
            *self.alike.entry(stack) += 1;
        }
    }
}

impl Watcher for Watch {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, stacks: &mut Stacks) {
        match event {
            RuntimeEvent::AllocationTick(tick) => self.allocated(tick, stacks.key(seen.event.stack)),
            RuntimeEvent::HandleCreated(made)
                if matches!(made.kind, HandleKind::Pinned | HandleKind::AsyncPinned) =>
            {
                if let Some(stack) = self.fresh.get(&made.object) {
                    *self.pinned.entry(*stack) += 1;
                }
            }
            // Objects move, and others come to lie where they were.
            RuntimeEvent::GcEnd(_) => self.fresh.clear(),
            _ => {}
        }
    }
}

impl Makers {
    /// Watches for a few seconds.
    pub(super) fn watch(run: &Run<'_>, suspicion: Suspicion) -> Result<(Makers, Cost), ProfilerError> {
        let handles = if suspicion.pins.is_some() { keyword::GC_HANDLE } else { 0 };
        let runtime = Provider::new(provider::RUNTIME, keyword::GC | handles, Level::Verbose);
        let request = TraceRequest::new(BUFFER_MB, vec![runtime]);
        let short = LONGEST.min(run.duration);
        let watch = Watch { suspicion, ..Watch::default() };
        let watched = events::watch_until(run, &request, watch, |elapsed| {
            if elapsed >= short { Going::Stop } else { Going::On }
        })?;
        let Watch { pinned, alike, large, .. } = &watched.watcher;
        let makers = Makers {
            pins: most(&watched, pinned).or_else(|| most(&watched, alike)),
            large: most(&watched, large),
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
