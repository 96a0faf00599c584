//! Regions or segments of the heap, read out of the collector's own structures from outside.

use std::ops::Range;

use gc_memory::{GcMemory, HeapLayout};
use heap_graph::Generation;
use model::ProcessId;

/// The regions or segments of one generation. In bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) pieces: u64,
    /// Up to behind the last object, with holes.
    pub(super) used: u64,
    /// What the system backs with memory.
    pub(super) committed: u64,
}

/// Where the heap lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// By [`Generation::ALL`].
    pub(super) generations: [Stretch; Generation::ALL.len()],
    pub(super) heaps: u32,
    pub(super) is_server: bool,
    pub(super) has_regions: bool,
    /// All addresses that are backed with memory.
    pub(super) ranges: Vec<Range<u64>>,
}

impl Layout {
    pub(super) fn of(heap: &HeapLayout) -> Layout {
        let mut layout = Layout {
            heaps: heap.heaps,
            is_server: heap.is_server,
            has_regions: heap.has_regions,
            ..Layout::default()
        };
        for range in &heap.ranges {
            let stretch = &mut layout.generations[range.generation as usize];
            stretch.pieces += 1;
            stretch.used += range.end.saturating_sub(range.start);
            // Generations 1 and 0 of a segment are counted with the generation 2 before them.
            stretch.committed += range.committed.saturating_sub(range.start);
            let end = range.committed.max(range.end);
            layout.ranges.push(range.start..end);
        }
        layout
    }

    pub(super) fn stretch(&self, generation: Generation) -> Option<Stretch> {
        Some(self.generations[generation as usize]).filter(|stretch| stretch.pieces > 0)
    }

    pub(super) fn total(&self) -> Stretch {
        self.generations.iter().fold(Stretch::default(), |sum, part| Stretch {
            pieces: sum.pieces + part.pieces,
            used: sum.used + part.used,
            committed: sum.committed + part.committed,
        })
    }

    /// How the collector divides the heap.
    pub(super) fn words(&self) -> String {
        let parts = if self.has_regions { "regions" } else { "segments" };
        match (self.is_server, self.heaps) {
            (true, heaps) => format!("server collector with {heaps} heaps in {parts}"),
            (false, _) => format!("workstation collector, {parts}"),
        }
    }
}

/// The collector's structures, found once and read at each look.
pub(super) struct Reader(Option<GcMemory>);

impl Reader {
    /// Finds them, where the runtime tells where they are and this user may read them.
    pub(super) fn open(pid: ProcessId) -> Reader {
        Reader(GcMemory::open(pid).ok())
    }

    /// Where the heap lies now; none while a collection has it in disorder.
    pub(super) fn read(&self) -> Option<Layout> {
        let heap = self.0.as_ref()?.heap();
        (!heap.in_disorder && !heap.ranges.is_empty()).then(|| Layout::of(&heap))
    }
}
