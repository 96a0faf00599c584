//! Which part of the runtime's memory an address of code belongs to.
//!
//! The runtime has a tree of five levels, each of 256 pointers and for 8 bits of an address; its leaves are lists
//! of fragments, each of which lies in a section: a heap of compiled code, the code of an image, or a range of
//! stubs.

use std::collections::HashSet;

use crate::memory::Memory;
use crate::offsets::Offsets;

/// The lowest bits that a leaf stands for, and the levels above.
const CHUNK_BITS: u32 = 17;
const LEVELS: u32 = 5;
const ENTRIES: usize = 256;
/// The lowest bit of a pointer marks what may be unloaded.
const MARK: u64 = 1;
/// Fragments in one list, and tables, fragments and sections of the whole tree, that are looked at.
const MOST_IN_LIST: usize = 4096;
const MOST_TABLES: usize = 64 << 10;
const MOST_FRAGMENTS: usize = 1 << 20;
const MOST_SECTIONS: usize = 64 << 10;

/// The kind of a section that holds code of the compiler in the process.
const CODE_HEAP: u32 = 2;

/// A section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// A heap of code, by its entry in the list of heaps.
    Heap(u64),
    /// The code of an image: where the image begins, and its module.
    Image(u64, u64),
}

/// The section of an address.
pub(crate) fn find(memory: &impl Memory, offsets: &Offsets, root: u64, address: u64) -> Option<Section> {
    let mut table = root;
    for level in (0..LEVELS).rev() {
        let index = address >> (CHUNK_BITS + 8 * level) & 0xff;
        table = memory.u64(table.checked_add(8 * index)?)? & !MARK;
        if table == 0 {
            return None;
        }
    }
    let mut fragment = table;
    for _ in 0..MOST_IN_LIST {
        let begin = memory.u64(fragment.checked_add(offsets.fragment_begin)?)?;
        let end = memory.u64(fragment.checked_add(offsets.fragment_end)?)?;
        if (begin..end).contains(&address) {
            return read(memory, offsets, memory.pointer(fragment.checked_add(offsets.fragment_section)?)?);
        }
        fragment = memory.pointer(fragment.checked_add(offsets.fragment_next)?)? & !MARK;
    }
    None
}

/// All sections.
pub(crate) fn all(memory: &impl Memory, offsets: &Offsets, root: u64) -> Vec<Section> {
    let mut found = HashSet::new();
    let mut tables = vec![(root, LEVELS - 1)];
    let (mut read_tables, mut left) = (0, MOST_FRAGMENTS);
    while let Some((table, level)) = tables.pop() {
        read_tables += 1;
        if read_tables > MOST_TABLES || left == 0 || found.len() >= MOST_SECTIONS {
            break;
        }
        let Some(bytes) = memory.array::<{ 8 * ENTRIES }>(table) else { continue };
        for pointer in bytes.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight) & !MARK) {
            match (pointer, level) {
                (0, _) => {}
                (fragment, 0) => collect(memory, offsets, fragment, &mut found, &mut left),
                (table, _) if tables.len() < MOST_TABLES => tables.push((table, level - 1)),
                _ => {}
            }
        }
    }
    let mut sections: Vec<u64> = found.into_iter().collect();
    sections.sort_unstable();
    sections.into_iter().filter_map(|section| read(memory, offsets, section)).collect()
}

/// The sections of a list of fragments.
fn collect(memory: &impl Memory, offsets: &Offsets, first: u64, found: &mut HashSet<u64>, left: &mut usize) {
    let mut fragment = first;
    for _ in 0..MOST_IN_LIST {
        if *left == 0 || found.len() >= MOST_SECTIONS {
            return;
        }
        *left -= 1;
        let at = |offset: u64| memory.u64(fragment.checked_add(offset)?);
        let (Some(section), Some(next)) = (at(offsets.fragment_section), at(offsets.fragment_next)) else {
            return;
        };
        found.insert(section);
        fragment = next & !MARK;
        if fragment == 0 {
            return;
        }
    }
}

fn read(memory: &impl Memory, offsets: &Offsets, section: u64) -> Option<Section> {
    let at = |offset: u64| section.checked_add(offset);
    if memory.u32(at(offsets.section_flags)?)? & CODE_HEAP != 0 {
        return Some(Section::Heap(memory.pointer(at(offsets.section_heap)?)?));
    }
    let module = memory.pointer(at(offsets.section_module)?)?;
    Some(Section::Image(memory.u64(at(offsets.section_begin)?)?, module))
}
