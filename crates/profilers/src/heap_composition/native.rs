//! The memory of a process by what it is for, as the kernel accounts for it.
//!
//! ```text
//!  ---p  4 kB |  rw-p  8 MB            a thread's stack, behind its guard
//!  rw-p 1 MB  |  ---p 63 MB            an arena of malloc: 64 MB, of which the first part is in use
//!  rw-p, ---p, rw-p, ---p 255 GB       what the collector set aside for the heap, and uses here and there
//!  rw-s, r-xs memfd:doublemapper       compiled code and data of types, mapped twice: once to write, once to run
//! ```
//! Names say most. Memory without a name is told apart by these shapes.

use std::ops::Range;

use process_view::{MappedMemory, MemoryView};

/// What memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Use {
    /// Objects, and the collector's tables.
    ManagedHeap,
    /// Compiled code, stubs, and the runtime's data of types and methods.
    Code,
    /// Stacks of threads.
    Stacks,
    /// `malloc` of native code and of the runtime itself.
    Malloc,
    /// Memory without a name: large blocks of `malloc`, other allocators, the runtime's own.
    OtherAnonymous,
    /// Programs, libraries, data files.
    Files,
    /// Memory that is shared with other processes.
    Shared,
}

impl Use {
    /// Every use, in the order in which they are shown.
    pub(crate) const ALL: [Use; 7] = [
        Use::ManagedHeap,
        Use::Code,
        Use::Stacks,
        Use::Malloc,
        Use::OtherAnonymous,
        Use::Files,
        Use::Shared,
    ];

    /// In a few words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Use::ManagedHeap => "managed heap (with the collector's tables)",
            Use::Code => "compiled code and the runtime's type data",
            Use::Stacks => "thread stacks",
            Use::Malloc => "malloc arenas (native code)",
            Use::OtherAnonymous => "other anonymous memory (large native blocks)",
            Use::Files => "mapped files (programs, libraries, data)",
            Use::Shared => "shared memory",
        }
    }

    /// Whether it is memory of native code: what a leak of native code makes grow.
    pub(crate) fn is_native(self) -> bool {
        matches!(self, Use::Malloc | Use::OtherAnonymous)
    }

    fn index(self) -> usize {
        self as usize
    }
}

/// How much memory is for one use. All in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// Mappings, or for stacks and arenas their number.
    pub(crate) pieces: u64,
    /// Addresses that may be used: reserved ones, which nobody can use yet, do not count.
    pub(crate) usable: u64,
    /// Addresses that are only kept free.
    pub(crate) reserved: u64,
    /// In memory; pages that are mapped several times count by their share.
    pub(crate) resident: u64,
    /// Swapped out.
    pub(crate) swapped: u64,
}

impl Part {
    fn add(&mut self, mapping: &MappedMemory) {
        if mapping.access.is_none() {
            self.reserved += mapping.size();
        } else {
            self.pieces += 1;
            self.usable += mapping.size();
        }
        self.resident += mapping.share;
        self.swapped += mapping.swapped;
    }
}

/// The memory of a process by what it is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Native {
    parts: [Part; Use::ALL.len()],
    /// Whether the managed heap was found among the mappings; without it, its memory is in the others.
    pub(crate) heap_found: bool,
}

impl Native {
    /// Sorts mappings by use. `heap` are ranges that the heap is known to lie in; empty if nothing is known.
    pub(crate) fn of(view: &MemoryView, heap: &[Range<u64>]) -> Native {
        let uses = uses(&view.mappings, heap);
        let mut native = Native { heap_found: uses.contains(&Use::ManagedHeap), ..Native::default() };
        for (mapping, its_use) in view.mappings.iter().zip(&uses) {
            native.parts[its_use.index()].add(mapping);
        }
        native
    }

    pub(crate) fn part(&self, its_use: Use) -> &Part {
        &self.parts[its_use.index()]
    }

    /// All of it that is in memory or swapped out.
    pub(crate) fn total(&self) -> u64 {
        self.parts.iter().map(|part| part.resident + part.swapped).sum()
    }

    /// What native code has.
    pub(crate) fn native(&self) -> u64 {
        Use::ALL.iter().filter(|its_use| its_use.is_native()).map(|its_use| self.used(*its_use)).sum()
    }

    /// What is in memory or swapped out of one use.
    pub(crate) fn used(&self, its_use: Use) -> u64 {
        self.part(its_use).resident + self.part(its_use).swapped
    }
}

/// An arena of glibc's malloc takes so much, and begins at a multiple of it.
const ARENA: u64 = 64 << 20;
/// A guard of a stack is no larger.
const LARGEST_GUARD: u64 = 1 << 20;
/// Addresses that the collector sets aside at once are at least so many more than an arena has.
const LEAST_RESERVE: u64 = ARENA + (1 << 20);
/// What the collector sets aside for all of the heap since .NET 7, unless it has a limit or the machine is huge.
const RANGE_OF_REGIONS: u64 = 256 << 30;

/// The use of each mapping.
fn uses(mappings: &[MappedMemory], heap: &[Range<u64>]) -> Vec<Use> {
    let mut uses: Vec<Option<Use>> = mappings.iter().map(named_use).collect();
    data_of_files(mappings, &mut uses);
    for range in heap {
        let touches = |mapping: &MappedMemory| mapping.start < range.end && range.start < mapping.end;
        for (mapping, its_use) in mappings.iter().zip(&mut uses) {
            if its_use.is_none() && touches(mapping) {
                *its_use = Some(Use::ManagedHeap);
            }
        }
    }
    if let Some(reserve) = heap_reserve(mappings, &uses) {
        claim_around(mappings, &mut uses, reserve);
    }
    for at in 0..mappings.len() {
        if uses[at].is_some() {
            continue;
        }
        if is_arena(mappings, at) {
            uses[at] = Some(Use::Malloc);
            if continues(mappings, at) && mappings[at + 1].access.is_none() && uses[at + 1].is_none() {
                uses[at + 1] = Some(Use::Malloc);
            }
        } else if is_stack(mappings, at) {
            uses[at] = Some(Use::Stacks);
        }
    }
    uses.into_iter().map(|its_use| its_use.unwrap_or(Use::OtherAnonymous)).collect()
}

/// What the name says; none for memory without a name.
fn named_use(mapping: &MappedMemory) -> Option<Use> {
    let name = mapping.name.as_str();
    if name.contains("doublemapper") {
        return Some(Use::Code);
    }
    if mapping.is_anonymous() {
        // Names that a program gives, such as glibc with glibc.mem.decorate_maps=1.
        return match name {
            _ if mapping.access.execute => Some(Use::Code),
            _ if name.contains("malloc") => Some(Use::Malloc),
            _ if name.contains("stack") => Some(Use::Stacks),
            _ => None,
        };
    }
    Some(match name {
        "[heap]" => Use::Malloc,
        "[stack]" => Use::Stacks,
        _ if name.starts_with('[') => Use::Files,
        _ if name.starts_with("/memfd:")
            || name.starts_with("/dev/")
            || name.starts_with("/SYSV")
            || name.is_empty() =>
        {
            Use::Shared
        }
        _ => Use::Files,
    })
}

fn follows(mappings: &[MappedMemory], at: usize) -> bool {
    at > 0 && mappings[at - 1].end == mappings[at].start
}

fn continues(mappings: &[MappedMemory], at: usize) -> bool {
    at + 1 < mappings.len() && follows(mappings, at + 1)
}

/// Variables of a library that begin as zero have no file behind them, but lie right behind its others.
fn data_of_files(mappings: &[MappedMemory], uses: &mut [Option<Use>]) {
    for at in 1..mappings.len() {
        let before = &mappings[at - 1];
        if uses[at].is_none()
            && follows(mappings, at)
            && before.inode != 0
            && before.access.write
            && mappings[at].access.write
            && uses[at - 1] == Some(Use::Files)
        {
            uses[at] = Some(Use::Files);
        }
    }
}

/// The largest piece of addresses that are only kept free, if it is the collector's.
fn heap_reserve(mappings: &[MappedMemory], uses: &[Option<Use>]) -> Option<usize> {
    let is_code = |index: Option<usize>| index.is_some_and(|index| uses.get(index) == Some(&Some(Use::Code)));
    (0..mappings.len())
        .filter(|&at| {
            let mapping = &mappings[at];
            // What is set aside for compiled code has code right beside it.
            let beside_code = (follows(mappings, at) && is_code(at.checked_sub(1)))
                || (continues(mappings, at) && is_code(Some(at + 1)));
            mapping.access.is_none() && mapping.is_anonymous() && mapping.size() >= LEAST_RESERVE && !beside_code
        })
        .max_by_key(|&at| mappings[at].size())
}

/// The heap is what lies without a gap around the piece that is kept free for it: nobody else gets addresses there. Below
/// lie the collector's tables.
fn claim_around(mappings: &[MappedMemory], uses: &mut [Option<Use>], reserve: usize) {
    let end = mappings[reserve].end;
    let surely = end.saturating_sub(RANGE_OF_REGIONS);
    let mut at = reserve;
    loop {
        if uses[at].is_none() {
            uses[at] = Some(Use::ManagedHeap);
        }
        if !follows(mappings, at) {
            break;
        }
        let below = &mappings[at - 1];
        let is_foreign = below.start < surely
            && (is_arena_part(mappings, at - 1) || is_stack(mappings, at - 1) || is_guard(below));
        if !below.is_anonymous() || uses[at - 1].is_some_and(|known| known != Use::ManagedHeap) || is_foreign {
            break;
        }
        at -= 1;
    }
}

/// Whether an arena of malloc begins here.
fn is_arena(mappings: &[MappedMemory], at: usize) -> bool {
    let mapping = &mappings[at];
    if !mapping.start.is_multiple_of(ARENA) || !mapping.access.write || mapping.size() > ARENA {
        return false;
    }
    mapping.size() == ARENA
        || (continues(mappings, at)
            && mappings[at + 1].access.is_none()
            && mappings[at + 1].end == mapping.start + ARENA)
}

/// Whether an arena begins here, or its unused part lies here.
fn is_arena_part(mappings: &[MappedMemory], at: usize) -> bool {
    is_arena(mappings, at)
        || (mappings[at].access.is_none() && follows(mappings, at) && is_arena(mappings, at - 1))
}

fn is_guard(mapping: &MappedMemory) -> bool {
    mapping.access.is_none() && mapping.is_anonymous() && mapping.size() <= LARGEST_GUARD
}

/// Whether a stack lies here: right above its guard.
fn is_stack(mappings: &[MappedMemory], at: usize) -> bool {
    let mapping = &mappings[at];
    mapping.is_anonymous()
        && mapping.access.read
        && mapping.access.write
        && follows(mappings, at)
        && is_guard(&mappings[at - 1])
}
