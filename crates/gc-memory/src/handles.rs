//! Handles: slots outside of the heap that hold, pin or watch objects.
//!
//! ```text
//! map of tables --> buckets --> tables, one per processor --> segments of 64 KB, each:
//!   header: kind and user data of each block, a bit per free handle     blocks of 64 handles
//! ```
//! The layout is in the runtime's `gc/handletablepriv.h` and `gc/handletableconstants.h`.

use std::collections::HashSet;

use runtime_memory::Memory;

/// Bytes of a segment's head, handles of a block, blocks of a segment.
const HEADER: usize = 0x1000;
const SEGMENT: usize = 0x1_0000;
const HANDLES: usize = 64;
const BLOCKS: usize = 120;
/// Where in the head things stand.
const FREE_MASKS: usize = 600;
const BLOCK_KINDS: usize = 1560;
const USER_DATA: usize = 1680;
const TAILS: usize = 1920;
const NO_BLOCK: u8 = 0xff;
/// So much of a table is looked at for its list of segments.
const TABLE_HEAD: usize = 512;
/// Kinds that a runtime knows: 12 up to .NET 9, 13 since.
const KINDS: [usize; 2] = [12, 13];
/// Most maps, tables of a bucket, and segments in all: 7.8 million handles.
const MOST_MAPS: usize = 64;
const BUCKETS_OF_MAP: u64 = 10;
const MOST_TABLES: u64 = 1024;
const MOST_SEGMENTS: usize = 1024;

/// What a handle does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HandleKind {
    /// Watches an object until it is dead (`GCHandleType.Weak`, `WeakReference`).
    WeakShort,
    /// Watches an object until it is gone, its finalizer included.
    WeakLong,
    /// Holds an object (`GCHandleType.Normal`).
    Strong,
    /// Holds an object and keeps it in its place.
    Pinned,
    /// One of the former, as its user says.
    Variable,
    /// Holds an object while native code counts references.
    RefCounted,
    /// Holds a second object while the first lives (`ConditionalWeakTable`).
    Dependent,
    /// Pins an object, and what it refers to, for a transfer of data (up to .NET 7).
    AsyncPinned,
    /// Holds an object whose size is asked for (up to .NET 8).
    SizedRef,
    /// Watches an object of native code.
    WeakNative,
    /// Watches an object, and points into it.
    WeakInterior,
    /// Ties an object to one of another runtime (.NET 10).
    CrossReference,
}

impl HandleKind {
    const ALL: [HandleKind; 12] = [
        HandleKind::WeakShort,
        HandleKind::WeakLong,
        HandleKind::Strong,
        HandleKind::Pinned,
        HandleKind::Variable,
        HandleKind::RefCounted,
        HandleKind::Dependent,
        HandleKind::AsyncPinned,
        HandleKind::SizedRef,
        HandleKind::WeakNative,
        HandleKind::WeakInterior,
        HandleKind::CrossReference,
    ];

    /// Whether it only watches: what it points to is no root.
    #[must_use]
    pub fn is_weak(self) -> bool {
        use HandleKind::{WeakInterior, WeakLong, WeakNative, WeakShort};
        matches!(self, WeakShort | WeakLong | WeakNative | WeakInterior)
    }

    /// A few words for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            HandleKind::WeakShort => "weak handle",
            HandleKind::WeakLong => "weak handle that tracks resurrection",
            HandleKind::Strong => "strong handle",
            HandleKind::Pinned => "pinned handle",
            HandleKind::Variable => "variable handle",
            HandleKind::RefCounted => "ref-counted handle",
            HandleKind::Dependent => "dependent handle",
            HandleKind::AsyncPinned => "async pinned handle",
            HandleKind::SizedRef => "sized-reference handle",
            HandleKind::WeakNative => "weak handle of a native object",
            HandleKind::WeakInterior => "weak handle into an object",
            HandleKind::CrossReference => "cross-reference handle",
        }
    }
}

/// A handle that holds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// What it does.
    pub kind: HandleKind,
    /// Where the handle itself is.
    pub at: u64,
    /// The object; of a dependent handle the one that has to live.
    pub object: u64,
    /// Of a dependent handle, the object that lives with it; 0 if there is none.
    pub dependent: u64,
}

/// All handles, and whether there were more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handles {
    pub(crate) found: Vec<Handle>,
    pub(crate) is_cut: bool,
}

/// Reads all tables from their map on.
pub(crate) fn read(memory: &impl Memory, map: u64) -> Handles {
    let mut handles = Handles::default();
    let (mut segments, mut seen) = (0, HashSet::new());
    let mut next = map;
    for _ in 0..MOST_MAPS {
        let at = |offset: u64| next.checked_add(offset).and_then(|at| memory.u64(at));
        let (Some(buckets), Some(following)) = (at(0), at(8)) else { break };
        for index in 0..BUCKETS_OF_MAP {
            let bucket = buckets.checked_add(8 * index).and_then(|at| memory.pointer(at));
            let tables = bucket.and_then(|bucket| memory.pointer(bucket));
            if let Some(tables) = tables.filter(|tables| seen.insert(*tables)) {
                read_tables(memory, tables, &mut segments, &mut seen, &mut handles);
            }
        }
        if following == 0 || handles.is_cut {
            break;
        }
        next = following;
    }
    handles
}

/// The tables of a bucket: a list without a count, so that it ends with the first that is none.
fn read_tables(
    memory: &impl Memory,
    tables: u64,
    segments: &mut usize,
    seen: &mut HashSet<u64>,
    handles: &mut Handles,
) {
    for index in 0..MOST_TABLES {
        let table = tables.checked_add(8 * index).and_then(|at| memory.pointer(at));
        let Some(table) = table.filter(|table| seen.insert(*table)) else { return };
        let Some((mut segment, kinds)) = first_segment(memory, table) else { return };
        while segment != 0 && seen.insert(segment) {
            *segments += 1;
            if *segments > MOST_SEGMENTS {
                handles.is_cut = true;
                return;
            }
            // What lies behind the last block in use need not be there.
            let bytes = memory.up_to(segment, SEGMENT);
            let Some(following) = read_segment(&bytes, segment, table, kinds, &mut handles.found) else {
                break;
            };
            segment = following;
        }
    }
}

/// The first segment of a table, and how many kinds its runtime knows: only with the right number does the segment
/// lead back to its table. Older runtimes have a lock of unknown size before the list of segments.
fn first_segment(memory: &impl Memory, table: u64) -> Option<(u64, usize)> {
    let head = memory.up_to(table, TABLE_HEAD);
    let words = head.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight));
    let mut segments = words.filter(|word| *word != 0 && word.is_multiple_of(SEGMENT as u64));
    segments.find_map(|segment| {
        let back = |kinds: usize| memory.u64(segment.checked_add(links(kinds) as u64 + 8)?);
        let kinds = KINDS.into_iter().find(|kinds| back(*kinds) == Some(table))?;
        Some((segment, kinds))
    })
}

/// Where a segment has the pointer to the next one; behind it is the one to its table.
fn links(kinds: usize) -> usize {
    TAILS + 2 * kinds + 4 * kinds
}

/// The handles of a segment; gives the next one. None if it is none of this table.
pub(crate) fn read_segment(
    bytes: &[u8],
    at: u64,
    table: u64,
    kinds: usize,
    found: &mut Vec<Handle>,
) -> Option<u64> {
    let word = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    let value = |block: usize, index: usize| word(HEADER + 8 * (HANDLES * block + index));
    let following = word(links(kinds))?;
    if word(links(kinds) + 8)? != table {
        return None;
    }
    for block in 0..BLOCKS {
        let kind = usize::from(*bytes.get(BLOCK_KINDS + block)?);
        // The last kind is that of blocks with user data, not of handles.
        let Some(&kind) = HandleKind::ALL.get(kind).filter(|_| kind + 1 < kinds) else { continue };
        let user_data = *bytes.get(USER_DATA + block)?;
        let free = word(FREE_MASKS + 8 * block)?;
        for index in 0..HANDLES {
            let Some(object) = value(block, index).filter(|object| *object != 0) else { continue };
            if free >> index & 1 != 0 {
                continue;
            }
            let extra = match kind {
                HandleKind::Dependent | HandleKind::Variable if user_data != NO_BLOCK => {
                    value(usize::from(user_data), index).unwrap_or(0)
                }
                _ => 0,
            };
            let (kind, dependent) = match kind {
                HandleKind::Variable => (variable(extra), 0),
                kind => (kind, extra),
            };
            let at = at.wrapping_add((HEADER + 8 * (HANDLES * block + index)) as u64);
            found.push(Handle { kind, at, object, dependent });
        }
    }
    Some(following)
}

/// What a variable handle is now.
fn variable(user_data: u64) -> HandleKind {
    match user_data {
        0x100 => HandleKind::WeakShort,
        0x200 => HandleKind::WeakLong,
        0x400 => HandleKind::Strong,
        0x800 => HandleKind::Pinned,
        _ => HandleKind::Variable,
    }
}
