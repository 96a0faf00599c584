//! Copies of arrays of references that hold static fields: those that handles hold, and those of each thread.

use std::collections::HashSet;

use heap_graph::Generation;
use runtime_memory::Memory;

use crate::handles::{Handle, HandleKind};
use crate::layout::HeapLayout;
use crate::threads::ManagedThread;

/// Most bytes that are copied in all, elements of one array of a thread, and arrays of threads.
const MOST_IN_ALL: usize = 16 << 20;
const MOST_OF_THREAD: usize = 4096;
const MOST_ARRAYS: usize = 10_000;
/// Flags of a type: its objects have elements; it is an array of one dimension.
const HAS_ELEMENTS: u32 = 0x8000_0000;
const KIND: u32 = 0x000e_0000;
const VECTOR: u32 = 0x000a_0000;
const HAS_REFERENCES: u32 = 0x0100_0000;
/// Where an array has its length and its elements.
const LENGTH: u64 = 8;
const ELEMENTS: u64 = 16;
/// Where a thread's data have the array of its statics.
const THREAD_ARRAY: u64 = 8;

/// A copy of an array's elements.
#[derive(Clone, Debug)]
pub(crate) struct RawTable {
    /// The array.
    pub(crate) object: u64,
    pub(crate) words: Vec<u64>,
}

impl RawTable {
    /// What stands at an address.
    pub(crate) fn at(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.object.checked_add(ELEMENTS)?)?;
        offset.is_multiple_of(8).then(|| self.words.get(usize::try_from(offset / 8).ok()?).copied())?
    }

    fn end(&self) -> u64 {
        self.object.saturating_add(ELEMENTS).saturating_add(8 * self.words.len() as u64)
    }
}

/// A thread's array of arrays of static fields.
#[derive(Clone, Debug)]
pub(crate) struct ThreadTables {
    pub(crate) os_id: u32,
    pub(crate) outer: RawTable,
    /// By place in the outer one.
    pub(crate) inner: Vec<(usize, RawTable)>,
}

/// What was copied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    /// By address.
    pub(crate) shared: Vec<RawTable>,
    pub(crate) of_threads: Vec<ThreadTables>,
    pub(crate) is_cut: bool,
}

impl Tables {
    /// What a static field at an address refers to.
    pub(crate) fn slot(&self, address: u64) -> Option<u64> {
        let behind = self.shared.partition_point(|table| table.object <= address);
        let table = self.shared.get(behind.checked_sub(1)?)?;
        (address < table.end()).then(|| table.at(address))?
    }
}

/// Copies them.
pub(crate) fn copy(
    memory: &impl Memory,
    heap: &HeapLayout,
    handles: &[Handle],
    threads: &[ManagedThread],
) -> Tables {
    let mut tables = Tables::default();
    let mut left = MOST_IN_ALL / 8;
    let holding = handles.iter().filter(|it| matches!(it.kind, HandleKind::Strong | HandleKind::Pinned));
    let mut seen = HashSet::new();
    // Arrays of static fields never move. Looking at every object that a handle holds would take too long.
    let stays = |object: u64| {
        heap.find(object)
            .is_some_and(|range| matches!(range.generation, Generation::Pinned | Generation::Large))
    };
    for handle in holding.filter(|handle| stays(handle.object) && seen.insert(handle.object)) {
        let Some(length) = length(memory, heap, handle.object) else { continue };
        tables.is_cut |= length > left;
        tables.shared.extend(elements(memory, handle.object, length.min(left)));
        left = left.saturating_sub(length);
    }
    tables.shared.sort_unstable_by_key(|table| table.object);
    let mut arrays = MOST_ARRAYS;
    for thread in threads {
        let Some(data) = thread.local_data else { continue };
        let outer = data.checked_add(THREAD_ARRAY).and_then(|at| memory.pointer(at));
        let Some(outer) = outer
            .and_then(|object| elements(memory, object, length(memory, heap, object)?.min(MOST_OF_THREAD)))
        else {
            continue;
        };
        let mut inner = Vec::new();
        for (index, &object) in outer.words.iter().enumerate().filter(|(_, object)| **object != 0) {
            if arrays == 0 {
                tables.is_cut = true;
                break;
            }
            arrays -= 1;
            let Some(length) = length(memory, heap, object) else { continue };
            inner.extend(elements(memory, object, length.min(MOST_OF_THREAD)).map(|table| (index, table)));
        }
        tables.of_threads.push(ThreadTables { os_id: thread.os_id, outer, inner });
    }
    tables
}

/// The length of an array of references.
fn length(memory: &impl Memory, heap: &HeapLayout, object: u64) -> Option<usize> {
    if !object.is_multiple_of(8) {
        return None;
    }
    let range = heap.find(object)?;
    let method_table = memory.u64(object)? & !7;
    let flags = memory.u32(method_table)?;
    let is_array = flags & HAS_ELEMENTS != 0 && flags & KIND == VECTOR && flags & HAS_REFERENCES != 0;
    // References have 8 bytes, arrays of them no other.
    if !is_array || flags & 0xffff != 8 {
        return None;
    }
    let length = memory.u32(object.checked_add(LENGTH)?)?;
    let end = object.checked_add(ELEMENTS)?.checked_add(8 * u64::from(length))?;
    (end <= range.end).then(|| usize::try_from(length).ok())?
}

fn elements(memory: &impl Memory, object: u64, length: usize) -> Option<RawTable> {
    let mut bytes = vec![0; 8 * length];
    if !memory.read(object.checked_add(ELEMENTS)?, &mut bytes) {
        return None;
    }
    let words = bytes.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight)).collect();
    Some(RawTable { object, words })
}
