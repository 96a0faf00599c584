//! Where the generations lie.
//!
//! ```text
//! regions (.NET 7 and newer):  generation --> region --> region ...   each region belongs to one generation
//! segments (older):            generation 2 --> segment --> the last one also has generations 1 and 0, by address
//! ```

use std::collections::HashSet;

use heap_graph::Generation;
use runtime_memory::Memory;

use crate::variables::{HeapVariables, Variables};

/// Most regions or segments in all: 1 TB of them.
const MOST_SEGMENTS: usize = 1 << 18;
/// A flag of a segment: nobody writes to it, strings of the program and the like.
const READ_ONLY: u64 = 1;

/// A stretch of the heap that belongs to one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapRange {
    /// Whose objects are in it.
    pub generation: Generation,
    /// Its first object.
    pub start: u64,
    /// Behind its last object.
    pub end: u64,
    /// Behind the memory that is backed by the system; 0 where a former range of the same segment has it.
    pub committed: u64,
    /// Behind the addresses that are kept for it; 0 likewise.
    pub reserved: u64,
    /// The heap, where each processor has its own.
    pub heap: u32,
}

/// The ranges of the heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapLayout {
    /// By address.
    pub ranges: Vec<HeapRange>,
    /// How many heaps there are; more than one with the server collector.
    pub heaps: u32,
    /// Whether each processor has a heap of its own.
    pub is_server: bool,
    /// Whether the heap consists of many small regions, not of few large segments.
    pub has_regions: bool,
    /// Whether a collection had the structures in disorder: the ranges may be wrong.
    pub in_disorder: bool,
}

impl HeapLayout {
    /// The range an address lies in.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&HeapRange> {
        let behind = self.ranges.partition_point(|range| range.start <= address);
        self.ranges.get(behind.checked_sub(1)?).filter(|range| address < range.end)
    }
}

/// Reads the ranges of all heaps.
pub(crate) fn read(memory: &impl Memory, variables: &Variables) -> HeapLayout {
    let heaps = variables.heaps(memory);
    let mut layout = HeapLayout {
        ranges: Vec::new(),
        heaps: u32::try_from(heaps.len()).unwrap_or(u32::MAX),
        is_server: variables.is_server(),
        has_regions: variables.allocation_start.is_none(),
        in_disorder: variables.in_disorder(memory),
    };
    let mut seen = HashSet::new();
    for (index, heap) in (0..).zip(&heaps) {
        read_heap(memory, variables, heap, index, &mut seen, &mut layout.ranges);
    }
    layout.ranges.sort_unstable_by_key(|range| range.start);
    layout
}

/// What the collector itself may still fill with objects: from, to.
pub(crate) fn allocating(memory: &impl Memory, variables: &Variables) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for heap in variables.heaps(memory) {
        for number in 0..variables.generation_count {
            let context = heap.generations.checked_add(number * variables.generation_size);
            let context =
                context.and_then(|at| Some((memory.pointer(at)?, memory.pointer(at.checked_add(8)?)?)));
            found.extend(context.filter(|(from, to)| from <= to));
        }
    }
    found
}

fn read_heap(
    memory: &impl Memory,
    variables: &Variables,
    heap: &HeapVariables,
    index: u32,
    seen: &mut HashSet<u64>,
    ranges: &mut Vec<HeapRange>,
) {
    let of_generation = |generation: u64, offset: u64| {
        let at = heap.generations.checked_add(generation.checked_mul(variables.generation_size)?)?;
        memory.u64(at.checked_add(offset)?)
    };
    let allocated = memory.u64(heap.alloc_allocated).unwrap_or(0);
    let ephemeral = memory.u64(heap.ephemeral_segment).unwrap_or(0);
    // Of segments: where generations 1 and 0 begin in the last one.
    let starts =
        variables.allocation_start.and_then(|at| Some((of_generation(1, at)?, of_generation(0, at)?)));
    for number in 0..variables.generation_count {
        if starts.is_some() && number < 2 {
            continue;
        }
        let generation = match number {
            0 => Generation::Gen0,
            1 => Generation::Gen1,
            2 => Generation::Gen2,
            3 => Generation::Large,
            _ => Generation::Pinned,
        };
        let mut next = of_generation(number, variables.start_segment).unwrap_or(0);
        while next != 0 && seen.len() < MOST_SEGMENTS && seen.insert(next) {
            let Some(segment) = Segment::read(memory, next) else { break };
            let end = if next == ephemeral { allocated } else { segment.allocated };
            let is_read_only = segment.flags & READ_ONLY != 0;
            let generation = if is_read_only { Generation::Frozen } else { generation };
            let whole = HeapRange {
                generation,
                start: segment.start,
                end,
                committed: segment.committed,
                reserved: segment.reserved,
                heap: index,
            };
            match starts {
                Some((first, zero)) if next == ephemeral && number == 2 => {
                    let later = HeapRange { committed: 0, reserved: 0, ..whole };
                    push(ranges, HeapRange { end: first, ..whole });
                    push(
                        ranges,
                        HeapRange { generation: Generation::Gen1, start: first, end: zero, ..later },
                    );
                    push(ranges, HeapRange { generation: Generation::Gen0, start: zero, ..later });
                }
                _ => push(ranges, whole),
            }
            next = segment.next;
        }
    }
}

/// Adds a range if it is one.
fn push(ranges: &mut Vec<HeapRange>, range: HeapRange) {
    if range.start != 0 && range.start <= range.end {
        ranges.push(range);
    }
}

/// A region or a segment, as the runtime's `dac_heap_segment` has it.
struct Segment {
    allocated: u64,
    committed: u64,
    reserved: u64,
    start: u64,
    flags: u64,
    next: u64,
}

impl Segment {
    fn read(memory: &impl Memory, at: u64) -> Option<Segment> {
        let bytes: [u8; 56] = memory.array(at)?;
        let (words, _) = bytes.as_chunks::<8>();
        let &[allocated, committed, reserved, _used, start, flags, next] = words else { return None };
        let [allocated, committed, reserved, start, flags, next] =
            [allocated, committed, reserved, start, flags, next].map(u64::from_le_bytes);
        Some(Segment { allocated, committed, reserved, start, flags, next })
    }
}
