//! The whole heap, told through memory that the host shares with us.
//!
//! Our own memory does not grow with the heap: the shared memory (4 MB), 3 MB of types, 3 MB of frames.

mod classes;
mod events;
mod frames;
mod ring;
mod walk;

use std::time::Duration;

use agent_wire::{FromAgent, GraphAsk, GraphEnd, GraphWay, Pause, Stage};
use clr_profiling::{HResult, Info};

use crate::answers::Refusal;
use crate::line::{Line, Silence};
use crate::sys::shared::Shared;
use crate::visit::Visit;

pub(crate) use events::Events;

/// A heap that is told, but for the names.
pub(crate) struct Graph {
    end: GraphEnd,
    left_out: u32,
    classes: Option<classes::Classes>,
    pause: Pause,
}

/// Tells the heap.
pub(crate) fn graph(visit: &Visit, line: &Line, ask: GraphAsk) -> Result<Graph, Refusal> {
    let no_memory = || Refusal { stage: Stage::Memory, code: HResult::E_INVALIDARG };
    let shared = line.enclosed().and_then(|memory| Shared::map(&memory)).ok_or_else(no_memory)?;
    let ring = ring::Ring::new(shared);
    match ask.way {
        GraphWay::Walk => walk::look(visit, ring, ask),
        GraphWay::Events => events::look(visit, ring, ask),
        GraphWay::Collection => Err(Refusal { stage: Stage::Heap, code: HResult::E_NOINTERFACE }),
    }
}

fn millis(count: u32) -> Duration {
    Duration::from_millis(count.into())
}

impl Graph {
    /// Sends what is known of types, and what went through the shared memory.
    pub(crate) fn tell(
        self,
        info: &Info,
        mut say: impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<(), Silence> {
        let mut left_out = self.left_out;
        say(FromAgent::GraphEnd(self.end))?;
        if let Some(classes) = self.classes {
            left_out = left_out.saturating_add(classes.tell(info, &mut say)?);
        }
        say(FromAgent::Answered { left_out, pause: self.pause })
    }
}
