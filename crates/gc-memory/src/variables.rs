//! The collector's own table of its variables, made for debuggers (`GcDacVars` in the runtime's
//! `gc/gcinterface.dac.h`): versions, sizes, and addresses of what it works with.

use runtime_memory::{Loaded, Memory};

/// Exported by .NET 8 and newer: addresses of variables, one of which leads to the table.
const DEBUGGER_TABLE: &str = "g_dacTable";
const MOST_ENTRIES: u64 = 512;
/// Older runtimes: their writable memory is searched, so much of it.
const MOST_SEARCHED: u64 = 64 << 20;
const STEP: usize = 1 << 20;

/// Where fields stand in a heap (of the server collector) and in a generation, as far as they are needed.
const HEAP_FIELDS: usize = 19;
const ALLOC_ALLOCATED: usize = 0;
const EPHEMERAL_SEGMENT: usize = 1;
const FINALIZE_QUEUE: usize = 2;
const GENERATION_TABLE: usize = 18;

/// The collector's variables.
#[derive(Clone, Debug)]
pub(crate) struct Variables {
    pub(crate) generation_size: u64,
    pub(crate) generation_count: u64,
    /// Where a generation has its first region or segment.
    pub(crate) start_segment: u64,
    /// Where it has the start of its objects; only where segments are used.
    pub(crate) allocation_start: Option<u64>,
    pub(crate) handle_tables: u64,
    /// Not null while a collection has the structures in disorder.
    invalid_count: u64,
    /// Of the workstation collector: where its only heap has its variables.
    only_heap: HeapVariables,
    /// Of the server collector.
    server: Option<ServerHeaps>,
}

/// Addresses of variables of one heap.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeapVariables {
    pub(crate) generations: u64,
    pub(crate) alloc_allocated: u64,
    pub(crate) ephemeral_segment: u64,
    pub(crate) finalize_queue: u64,
}

#[derive(Clone, Debug)]
struct ServerHeaps {
    count: u64,
    heaps: u64,
    offsets: [u64; 4],
}

impl Variables {
    /// Finds the table of a runtime.
    pub(crate) fn find(memory: &impl Memory, loaded: &Loaded) -> Option<Variables> {
        if let Some(table) = loaded.symbol(memory, DEBUGGER_TABLE) {
            for index in 0..MOST_ENTRIES {
                let variable = memory.u64(table.checked_add(8 * index)?)?;
                let pointed = memory.pointer(variable);
                if let Some(found) = pointed.and_then(|at| Variables::read(memory, at)) {
                    return Some(found);
                }
            }
        }
        Variables::search(memory, loaded)
    }

    /// Looks for the table itself in what the runtime's file has to write to.
    fn search(memory: &impl Memory, loaded: &Loaded) -> Option<Variables> {
        let mut left = MOST_SEARCHED;
        for &(from, to) in loaded.writable() {
            let mut at = from.next_multiple_of(8);
            while at < to && left > 0 {
                let bytes = memory.up_to(at, STEP.min(usize::try_from(to - at).unwrap_or(STEP)));
                for (index, pair) in (0..).zip(bytes.as_chunks::<8>().0.windows(2)) {
                    let [versions, size] = [u64::from_le_bytes(pair[0]), u64::from_le_bytes(pair[1])];
                    if !is_plausible(versions, size) {
                        continue;
                    }
                    if let Some(found) = Variables::read(memory, at.checked_add(8 * index)?) {
                        return Some(found);
                    }
                }
                // Pages of a program that were never touched cannot be read in a core dump.
                let step = (bytes.len() as u64).max(4096) & !7;
                at = at.checked_add(step)?;
                left = left.saturating_sub(step);
            }
        }
        None
    }

    /// The table at an address, if there is one.
    pub(crate) fn read(memory: &impl Memory, at: u64) -> Option<Variables> {
        let word = |index: u64| memory.u64(at.checked_add(8 * index)?);
        let generation_size = word(1)?;
        if !is_plausible(word(0)?, generation_size) {
            return None;
        }
        // .NET Core 3.1 has no pinned object heap and does not say how many generations it has.
        let (generation_count, first) = match word(2)? {
            5 => (5, 3),
            address if address > 0xffff => (4, 2),
            _ => return None,
        };
        let field = |index: u64| word(first + index);
        if memory.u32(field(4)?)? != 2 {
            return None;
        }
        let handle_tables = field(26)?;
        memory.pointer(handle_tables)?;
        let numbers = |at: u64, index: usize| {
            let number = memory.u32(at.checked_add(4 * index as u64)?)?;
            Some(u64::from(number)).filter(|offset| *offset < 1 << 20)
        };
        let (mut start_segment, mut allocation_start, mut server) = (Some(0x38), Some(0x40), None);
        if generation_count == 5 {
            let (heap_fields, generation_fields) = (field(27)?, field(28)?);
            start_segment = numbers(generation_fields, 1);
            allocation_start = numbers(generation_fields, 2);
            let offsets = [GENERATION_TABLE, ALLOC_ALLOCATED, EPHEMERAL_SEGMENT, FINALIZE_QUEUE]
                .map(|index| numbers(heap_fields, index.min(HEAP_FIELDS - 1)));
            if let (count, heaps, [Some(generations), Some(allocated), Some(ephemeral), Some(queue)]) =
                (field(19)?, field(20)?, offsets)
                && count != 0
                && memory.pointer(heaps).is_some()
            {
                server =
                    Some(ServerHeaps { count, heaps, offsets: [generations, allocated, ephemeral, queue] });
            }
        }
        let only_heap = HeapVariables {
            generations: field(3)?,
            alloc_allocated: field(12)?,
            ephemeral_segment: field(7)?,
            finalize_queue: field(15)?,
        };
        Some(Variables {
            generation_size,
            generation_count,
            start_segment: start_segment?,
            allocation_start,
            handle_tables,
            invalid_count: field(21)?,
            only_heap,
            server,
        })
    }

    /// Whether a collection has the structures in disorder now.
    pub(crate) fn in_disorder(&self, memory: &impl Memory) -> bool {
        memory.u32(self.invalid_count).is_none_or(|count| count != 0)
    }

    /// Whether each processor has a heap of its own.
    pub(crate) fn is_server(&self) -> bool {
        self.server.is_some()
    }

    /// The heaps.
    pub(crate) fn heaps(&self, memory: &impl Memory) -> Vec<HeapVariables> {
        const MOST_HEAPS: u32 = 1024;
        let Some(server) = &self.server else { return vec![self.only_heap] };
        let count = memory.u32(server.count).unwrap_or(0).min(MOST_HEAPS);
        let Some(heaps) = memory.pointer(server.heaps) else { return Vec::new() };
        let heap = |index: u64| {
            let heap = memory.pointer(heaps.checked_add(8 * index)?)?;
            let [generations, allocated, ephemeral, queue] = server.offsets;
            Some(HeapVariables {
                generations: heap.checked_add(generations)?,
                alloc_allocated: heap.checked_add(allocated)?,
                ephemeral_segment: heap.checked_add(ephemeral)?,
                finalize_queue: heap.checked_add(queue)?,
            })
        };
        (0..u64::from(count)).filter_map(heap).collect()
    }
}

/// Two version numbers in eight bytes, and the size of a generation.
fn is_plausible(versions: u64, generation_size: u64) -> bool {
    let [major, minor, rest @ ..] = versions.to_le_bytes();
    (1..=15).contains(&major)
        && minor < 32
        && rest == [0; 6]
        && (64..=8192).contains(&generation_size)
        && generation_size.is_multiple_of(8)
}
