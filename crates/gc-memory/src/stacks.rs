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
        let has_frames =
            frames.is_empty() || given.get(&os_id).is_some_and(|thread| !thread.frames.is_empty());
        if os_id == 0 || !has_frames || !seen.insert(os_id) {
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

#[cfg(test)]
mod tests {
    use heap_graph::Generation;

    use super::*;
    use crate::layout::HeapRange;

    /// A stack with a word for each number, from an address on.
    struct Words(u64, Vec<u64>);

    impl Memory for Words {
        fn read(&self, address: u64, into: &mut [u8]) -> bool {
            let bytes: Vec<u8> = self.1.iter().flat_map(|word| word.to_le_bytes()).collect();
            let from = address.checked_sub(self.0).and_then(|from| usize::try_from(from).ok());
            let part = from.and_then(|from| bytes.get(from..from.checked_add(into.len())?));
            part.map(|part| into.copy_from_slice(part)).is_some()
        }
    }

    fn heap() -> HeapLayout {
        let (generation, committed, reserved, heap) = (Generation::Gen0, 0, 0, 0);
        let range = HeapRange { generation, start: 0x5000, end: 0x6000, committed, reserved, heap };
        HeapLayout { ranges: vec![range], ..HeapLayout::default() }
    }

    #[test]
    fn words_within_the_heap_belong_to_the_frame_below_them() {
        let memory = Words(0x1000, vec![0x5008, 7, 0x5010, 0x4fff, 0x6000, 0x5018, 0x5018]);
        let young = Frame { ip: 1, sp: 0x1010 };
        let old = Frame { ip: 2, sp: 0x1020 };
        let thread = ThreadFrames { os_id: 9, frames: vec![old, young] };
        let place = StackPlace { stack_pointer: Some(0x1003), end: Some(0x1038), registers: vec![0x5ff8, 3] };
        let stacks = copy(&memory, &[], &[thread], |_| place.clone());
        assert_eq!((stacks.found.len(), stacks.missing), (1, 0));
        let found = stacks.found[0].references(&heap());
        // A register, native code below all frames, the younger frame, the older one; each word of a frame once.
        let expected = [(young, 0x5ff8), (young, 0x5008), (young, 0x5010), (old, 0x5018)];
        assert_eq!(found, expected.map(|(frame, word)| (Some(frame), word)));
    }

    #[test]
    fn threads_without_frames_are_passed_over_when_frames_are_known() {
        let memory = Words(0x1000, vec![0x5008; 4]);
        let thread = |os_id| ManagedThread { os_id, stack: Some((0, 0x1020)), ..ManagedThread::default() };
        let place = StackPlace { stack_pointer: Some(0x1000), ..StackPlace::default() };
        let with_frames = ThreadFrames { os_id: 2, frames: vec![Frame { ip: 1, sp: 0x1000 }] };
        let known = copy(&memory, &[thread(1), thread(2)], &[with_frames], |_| place.clone());
        assert_eq!(known.found.iter().map(|stack| stack.os_id).collect::<Vec<_>>(), [2]);
        let unknown = copy(&memory, &[thread(0), thread(1), thread(2)], &[], |_| place.clone());
        assert_eq!(unknown.found.iter().map(|stack| stack.os_id).collect::<Vec<_>>(), [1, 2]);
        let lost = copy(&memory, &[thread(3)], &[], |_| StackPlace::default());
        assert_eq!((lost.found.len(), lost.missing), (0, 1));
    }
}
