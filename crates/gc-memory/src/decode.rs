//! Decoders on their own, for fuzzing: whatever is read as the collector's structures, they come to an end without a
//! panic.

use runtime_memory::Memory;

use crate::layout::{HeapLayout, HeapRange};
use crate::shape::Shape;
use crate::threads::ManagedThread;
use crate::variables::Variables;
use crate::walk::Walk;
use crate::{finalizer, handles, layout, stacks, tables};

/// Most bytes of heap that are walked, so that one input does not take long.
const MOST_WALKED: u64 = 64 << 10;

/// Bytes that lie at every address, over and over.
struct Everywhere<'b>(&'b [u8]);

impl Memory for Everywhere<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        let Some(length) = u64::try_from(self.0.len()).ok().filter(|length| *length > 0) else {
            return false;
        };
        let mut from = usize::try_from(address % length).unwrap_or(0);
        for byte in into {
            *byte = self.0.get(from).copied().unwrap_or(0);
            from = (from + 1) % self.0.len();
        }
        true
    }
}

/// Reads bytes as everything that is read from a process. Gives how much was found.
#[must_use]
pub fn structures(bytes: &[u8]) -> usize {
    let memory = Everywhere(bytes);
    let mut found = handles::read(&memory, 0x10).found.len();
    let mut segment = Vec::new();
    let _ = handles::read_segment(bytes, 0x1000, 0, 12, &mut segment);
    found += segment.len();
    let mut heap = HeapLayout::default();
    if let Some(variables) = Variables::read(&memory, 0) {
        found += finalizer::read(&memory, &variables).map_or(0, |queue| queue.ready.len());
        heap = layout::read(&memory, &variables);
    }
    let range = HeapRange {
        generation: heap_graph::Generation::Gen0,
        start: 0,
        end: MOST_WALKED.min(bytes.len() as u64),
        committed: 0,
        reserved: 0,
        heap: 0,
    };
    heap.ranges = vec![range];
    let mut walk = Walk::new(&memory, 8, [(16, 64)]);
    let outcome = walk.each(
        &heap,
        |_| true,
        |met, references| {
            found += references.len() + usize::try_from(met.bytes % 2).unwrap_or(0);
            Ok::<(), ()>(())
        },
    );
    found += usize::from(outcome.is_err());
    found += Shape::read(&memory, 64).map_or(0, |shape| shape.stretches(4096).take(4096).count());
    let thread =
        ManagedThread { local_data: Some(0), os_id: 1, stack: Some((0, 4096)), ..ManagedThread::default() };
    let tables = tables::copy(&memory, &heap, &segment, &[thread]);
    found += tables.slot(24).map_or(0, |_| 1);
    let stacks = stacks::copy(&memory, &[thread], &[], |_| stacks::StackPlace {
        stack_pointer: Some(8),
        ..stacks::StackPlace::default()
    });
    found + stacks.found.iter().map(|stack| stack.references(&heap).len()).sum::<usize>()
}
