//! The types of a module that are made of others: instances of generic types, arrays.
//!
//! ```text
//! module --> table --> buckets: how many, two more words, then a list each:  type, next, ...  the last next is odd
//! ```
//! .NET 10 says where the table stands in a module; in .NET 9 it is looked for: the place whose lists lead to types.

use runtime_memory::{Memory, RuntimeMemory};

/// Where a table has its buckets, and how many words stand before their lists.
const BUCKETS: u64 = 16;
const SPECIAL: u64 = 3;
/// Where an entry has the next one.
const NEXT: u64 = 8;
/// The last pointer of a list.
const END: u64 = 1;
/// A type that is no class and no structure: a pointer, a type parameter.
const NO_METHOD_TABLE: u64 = 2;
/// Most buckets of a table, and entries of a bucket.
const MOST_BUCKETS: u64 = 1 << 20;
const MOST_ENTRIES: usize = 4096;
/// So much of a module is looked at.
const MODULE: u64 = 2048;
/// Types that are looked at to tell a table.
const ASKED: usize = 32;

/// Where modules have the table.
pub(crate) fn find<M: Memory>(runtime: &RuntimeMemory<M>, module: u64) -> Option<u64> {
    if let Some(described) = runtime.field("Module", "AvailableTypeParams") {
        return Some(described);
    }
    let memory = runtime.memory();
    (0..MODULE).step_by(8).find(|offset| {
        let mut types = Vec::new();
        read(memory, module, *offset, ASKED, &mut types);
        types.len() == ASKED && types.iter().all(|method_table| runtime.is_type(*method_table))
    })
}

/// Adds the types of a module's table, up to so many in all.
pub(crate) fn read(
    memory: &impl Memory,
    module: u64,
    offset: u64,
    most: usize,
    types: &mut Vec<u64>,
) -> Option<()> {
    let table = memory.pointer(module.checked_add(offset)?)?;
    let buckets = memory.pointer(table.checked_add(BUCKETS)?)?;
    let count = memory.u64(buckets).filter(|count| (1..MOST_BUCKETS).contains(count))?;
    let lists = memory.up_to(buckets.checked_add(8 * SPECIAL)?, usize::try_from(8 * count).ok()?);
    for list in lists.as_chunks::<8>().0 {
        let mut entry = u64::from_le_bytes(*list);
        for _ in 0..MOST_ENTRIES {
            if entry == 0 || entry & END != 0 {
                break;
            }
            if types.len() >= most {
                return Some(());
            }
            let handle = memory.u64(entry)? & !END;
            if handle != 0 && handle & NO_METHOD_TABLE == 0 {
                types.push(handle);
            }
            entry = memory.u64(entry.checked_add(NEXT)?)?;
        }
    }
    Some(())
}
