//! Copies of stacks, and the words in them that look like references.

use std::collections::{HashMap, HashSet};

use runtime_memory::Memory;

use crate::layout::HeapLayout;
use crate::threads::ManagedThread;

/// Most bytes that are copied of one stack, and of all.
const MOST_OF_STACK: u64 = 1 << 20;
const MOST_IN_ALL: u64 = 64 << 20;
/// What a thread that runs may have below its youngest known frame.
const BELOW: u64 = 2048;

/// The managed frames of a thread, as the runtime itself walks them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadFrames {
    /// The system's number of the thread, as the process itself sees it.
    pub os_id: u32,
    /// In any order.
    pub frames: Vec<Frame>,
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where in its method it is.
    pub ip: u64,
    /// Where its part of the stack begins.
    pub sp: u64,
}

/// A copy of a stack.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawStack {
    pub(crate) os_id: u32,
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
    /// By address.
    pub(crate) frames: Vec<Frame>,
    /// Values of registers, where they are known.
    pub(crate) registers: Vec<u64>,
}

/// What was copied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stacks {
    pub(crate) found: Vec<RawStack>,
    /// Threads whose stack could not be copied, or not all of it.
    pub(crate) missing: u64,
}

/// Copies the stacks of the threads. `place` tells where a thread's stack ends now, its registers, and where its
/// mapping ends.
pub(crate) fn copy(
    memory: &impl Memory,
    threads: &[ManagedThread],
    frames: &[ThreadFrames],
    mut place: impl FnMut(u32) -> StackPlace,
) -> Stacks {
    let given: HashMap<u32, &ThreadFrames> = frames.iter().map(|thread| (thread.os_id, thread)).collect();
    let mut stacks = Stacks::default();
    let mut left = MOST_IN_ALL;
    let mut seen = HashSet::new();
    let known = threads.iter().map(|thread| (thread.os_id, thread.stack));
    let unknown = frames.iter().map(|thread| (thread.os_id, None));
    for (os_id, bounds) in known.chain(unknown) {
        if os_id == 0 || !seen.insert(os_id) {
            continue;
        }
        let mut frames = given.get(&os_id).map_or_else(Vec::new, |thread| thread.frames.clone());
        frames.sort_unstable_by_key(|frame| frame.sp);
        let place = place(os_id);
        let lowest = frames.first().map(|frame| frame.sp.saturating_sub(BELOW));
        let Some(low) = place.stack_pointer.or(lowest).map(|low| low & !7) else {
            stacks.missing += 1;
            continue;
        };
        let end = bounds.filter(|(limit, base)| (*limit..*base).contains(&low)).map(|(_, base)| base);
        let Some(end) = end.or(place.end).filter(|end| *end > low) else {
            stacks.missing += 1;
            continue;
        };
        let wanted = (end - low).min(MOST_OF_STACK).min(left);
        let bytes = memory.up_to(low, usize::try_from(wanted).unwrap_or(0));
        if (bytes.len() as u64) < end - low {
            stacks.missing += 1;
        }
        left -= bytes.len() as u64;
        stacks.found.push(RawStack { os_id, at: low, bytes, frames, registers: place.registers });
    }
    stacks
}

/// Where a thread stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct StackPlace {
    /// Its stack pointer, if it can be known.
    pub(crate) stack_pointer: Option<u64>,
    /// Where the mapping of its stack ends.
    pub(crate) end: Option<u64>,
    /// Values of its registers, if they can be known.
    pub(crate) registers: Vec<u64>,
}

impl RawStack {
    /// The words that lie within the heap, each with the frame it stands in; each pair once.
    pub(crate) fn references(&self, heap: &HeapLayout) -> Vec<(Option<Frame>, u64)> {
        let from_stack = self.words().map(|(place, word)| (self.frame_at(place), word));
        let from_registers = self.registers.iter().map(|word| (self.frames.first().copied(), *word));
        let mut seen = HashSet::new();
        from_registers
            .chain(from_stack)
            .filter(|(_, word)| heap.find(*word).is_some())
            .filter(|(frame, word)| seen.insert((frame.map(|frame| frame.sp), *word)))
            .collect()
    }

    /// The words, each with its place.
    pub(crate) fn words(&self) -> impl Iterator<Item = (u64, u64)> {
        let words = self.bytes.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight));
        (0..).map(|index: u64| self.at.wrapping_add(8 * index)).zip(words)
    }

    /// The frame of a place: the last that begins at or below it; below all, native code that the youngest called.
    fn frame_at(&self, place: u64) -> Option<Frame> {
        let behind = self.frames.partition_point(|frame| frame.sp <= place);
        self.frames.get(behind.saturating_sub(1)).copied()
    }
}
