//! The memory of a process by what it is for, as the kernel accounts for it.
//!
//! ```text
//!  ---p  4 kB |  rw-p  8 MB            a thread's stack, behind its guard
//!  rw-p 1 MB  |  ---p 63 MB            an arena of malloc: 64 MB, of which the first part is in use
//!  rw-p, ---p, rw-p, ---p 255 GB       what the collector set aside for the heap (.NET 7), and uses here and there
//!  rw-p 16 MB | ---p 240 MB            a segment of the heap (older): at least 128 MB together
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
    pub(crate) const ALL: [Use; 7] =
        [Use::ManagedHeap, Use::Code, Use::Stacks, Use::Malloc, Use::OtherAnonymous, Use::Files, Use::Shared];

    /// In a table.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Use::ManagedHeap => "managed heap",
            Use::Code => "compiled code",
            Use::Stacks => "thread stacks",
            Use::Malloc => "malloc arenas",
            Use::OtherAnonymous => "other anonymous",
            Use::Files => "mapped files",
            Use::Shared => "shared memory",
        }
    }

    /// In a sentence.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Use::ManagedHeap => "the managed heap",
            Use::Code => "compiled code and the runtime's data of types",
            Use::Stacks => "stacks of threads",
            Use::Malloc => "malloc arenas of native code",
            Use::OtherAnonymous => "other anonymous memory, such as large native blocks",
            Use::Files => "mapped files: programs, libraries, data",
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

/// Addresses that are for other uses than native memory, those that are only kept free included.
pub(crate) fn beside_native(view: &MemoryView, heap: &[Range<u64>]) -> Vec<Range<u64>> {
    let uses = uses(&view.mappings, heap);
    let others = view.mappings.iter().zip(uses).filter(|(_, its_use)| !its_use.is_native());
    others.map(|(mapping, _)| mapping.start..mapping.end).collect()
}

/// An arena of glibc's malloc takes so much, and begins at a multiple of it.
const ARENA: u64 = 64 << 20;
/// A guard of a stack is no larger.
const LARGEST_GUARD: u64 = 64 << 10;
/// A stack of a thread is no smaller; those of signal handlers are, and the runtime's data of types may look like one.
const LEAST_STACK: u64 = 128 << 10;
/// Segments of the heap, as runtimes before .NET 7 have them, are no smaller.
const LEAST_SEGMENT: u64 = 96 << 20;
/// What the collector sets aside at once, since .NET 7, is no smaller: segments of older runtimes are 256 MB at most.
const LEAST_RESERVE: u64 = 512 << 20;
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
    claim_segments(mappings, &mut uses);
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

/// Pieces of the heap: used up to somewhere, and behind that kept free.
fn claim_segments(mappings: &[MappedMemory], uses: &mut [Option<Use>]) {
    for at in 0..mappings.len() {
        if uses[at].is_some() || !mappings[at].access.write || !continues(mappings, at) {
            continue;
        }
        let rest = &mappings[at + 1];
        let is_rest = uses[at + 1].is_none() && rest.access.is_none() && !is_stack(mappings, at + 2);
        let is_own = !is_arena(mappings, at) && !is_stack(mappings, at);
        if is_rest
            && is_own
            && rest.end - mappings[at].start >= LEAST_SEGMENT
            && !is_beside_code(mappings, uses, at + 1)
        {
            uses[at] = Some(Use::ManagedHeap);
            uses[at + 1] = Some(Use::ManagedHeap);
        }
    }
}

/// How near code lies to what is set aside for more of it.
const NEAR_CODE: u64 = 64 << 20;
/// What is set aside for compiled code is at most this: jumps reach no farther.
const MOST_FOR_CODE: u64 = 2 << 30;

/// Whether a piece that is kept free is for compiled code: there is code near it.
fn is_beside_code(mappings: &[MappedMemory], uses: &[Option<Use>], at: usize) -> bool {
    let (start, end) = (mappings[at].start, mappings[at].end);
    if end - start > MOST_FOR_CODE {
        return false;
    }
    let is_code = |index: usize| uses[index] == Some(Use::Code) && mappings[index].access.execute;
    let below = (0..at).rev().take_while(|&index| start - mappings[index].end < NEAR_CODE).any(is_code);
    let above =
        (at + 1..mappings.len()).take_while(|&index| mappings[index].start - end < NEAR_CODE).any(is_code);
    below || above
}

/// The largest piece of addresses that are only kept free, if it is the collector's.
fn heap_reserve(mappings: &[MappedMemory], uses: &[Option<Use>]) -> Option<usize> {
    let is_reserve = |at: &usize| {
        let mapping = &mappings[*at];
        uses[*at].is_none_or(|known| known == Use::ManagedHeap)
            && mapping.access.is_none()
            && mapping.size() >= LEAST_RESERVE
            && !is_beside_code(mappings, uses, *at)
    };
    (0..mappings.len()).filter(is_reserve).max_by_key(|&at| mappings[at].size())
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
        if !below.is_anonymous() || uses[at - 1].is_some_and(|known| known != Use::ManagedHeap) || is_foreign
        {
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
    let Some(mapping) = mappings.get(at) else { return false };
    mapping.is_anonymous()
        && mapping.access.read
        && mapping.access.write
        && mapping.size() >= LEAST_STACK
        && follows(mappings, at)
        && is_guard(&mappings[at - 1])
}
