//! The walk from frame to frame.

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64};
use framehop::{Error, FrameAddress, Unwinder as _};

use crate::{Methods, Modules};

/// More frames than any sane stack; deep recursion is cut here.
const MOST_FRAMES: usize = 4096;

/// Marks an address in a walked stack that is a caller only if the frame before it is code that took the place of a running
/// method (on-stack replacement). Frame pointers then lead from the new code to the caller's caller, and the caller's
/// address stands where the old code, which nobody will return to, had its frame.
pub const IF_REPLACED: u64 = 1 << 62;

/// So much of a caller's frame is searched for such an address.
const MOST_WORDS: u64 = 256;

/// The registers that lead to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The instruction.
    pub instruction: u64,
    /// The top of the stack.
    pub stack: u64,
    /// The frame, in code that keeps it.
    pub frame: u64,
}

/// A thread at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// Its registers in user mode.
    pub registers: Registers,
    /// Its stack, from the top on.
    pub stack: &'a [u8],
    /// What the kernel saw by frame pointers, innermost first.
    pub chain: &'a [u64],
    /// Whether the kernel stopped at its limit of frames.
    pub chain_cut: bool,
}

/// How far a walk got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// To the place where threads begin.
    Start,
    /// To the end of the kernel's chain: where threads begin, or where the chain is broken. Its last frame tells.
    EndOfChain,
    /// To the end of the copied stack, and the kernel's chain does not continue it.
    EndOfCopy,
    /// To the kernel's limit of frames.
    Limit,
    /// To a place from which no caller could be found.
    Broken,
}

/// Walks stacks of one process.
pub struct Unwinder {
    /// The libraries; more are added as they are mapped.
    pub modules: Modules,
    /// Managed code, as far as it is known when a stack is walked.
    pub methods: Methods,
    cache: CacheX86_64,
}

impl Unwinder {
    /// A walker over these libraries.
    #[must_use]
    pub fn new(modules: Modules) -> Unwinder {
        Unwinder { modules, methods: Methods::default(), cache: CacheX86_64::new() }
    }

    /// Walks one stack: `frames` gets its addresses, innermost first; all but the first are return addresses.
    pub fn walk(&mut self, thread: &Snapshot<'_>, frames: &mut Vec<u64>) -> Reached {
        frames.clear();
        frames.push(thread.registers.instruction);
        let mut walk = Walk::begin(thread.registers);
        match self.go_on(thread, &mut walk, frames) {
            ended @ (Reached::Start | Reached::Limit) => ended,
            ended => continue_by_chain(thread, frames, ended),
        }
    }

    /// Walks as far as tables and frame pointers lead.
    pub(crate) fn go_on(&mut self, thread: &Snapshot<'_>, walk: &mut Walk, frames: &mut Vec<u64>) -> Reached {
        let mut read = |address: u64| word(thread, address).ok_or(());
        loop {
            if frames.len() >= MOST_FRAMES {
                break Reached::Limit;
            }
            let frame = walk.registers.bp();
            let by_tables = self.modules.covers(walk.address.address_for_lookup());
            let step = match self.methods.leave(walk, by_tables, &mut read) {
                Some(caller) => Ok(Some(caller)),
                None => self.modules.unwinder.unwind_frame(
                    walk.address,
                    &mut walk.registers,
                    &mut self.cache,
                    &mut read,
                ),
            };
            match step {
                Ok(Some(caller)) => {
                    let Some(next) = FrameAddress::from_return_address(caller) else { break Reached::Start };
                    frames.push(caller);
                    if !by_tables {
                        frames.extend(replaced_caller(thread, frame, walk.registers.bp()));
                    }
                    walk.address = next;
                }
                Ok(None) => break Reached::Start,
                Err(Error::CouldNotReadStack(at)) if is_behind(thread, at) => break Reached::EndOfCopy,
                Err(_) => break Reached::Broken,
            }
        }
    }
}

/// Where a walk is.
pub(crate) struct Walk {
    pub(crate) address: FrameAddress,
    pub(crate) registers: UnwindRegsX86_64,
}

impl Walk {
    pub(crate) fn begin(registers: Registers) -> Walk {
        let Registers { instruction, stack, frame } = registers;
        Walk {
            address: FrameAddress::from_instruction_pointer(instruction),
            registers: UnwindRegsX86_64::new(instruction, stack, frame),
        }
    }
}

/// Goes on where the kernel's chain has the same frame. Its chain may be longer even if ours broke off.
fn continue_by_chain(thread: &Snapshot<'_>, frames: &mut Vec<u64>, ended: Reached) -> Reached {
    let by_chain = if thread.chain_cut { Reached::Limit } else { Reached::EndOfChain };
    // The outermost frame that both have. Recursion has the same frame many times: a copy that ended in it is continued
    // from the place in the chain that is as far out, not from the last.
    for at in (0..frames.len()).rev() {
        let Some(frame) = frames.get(at) else { continue };
        let places =
            || thread.chain.iter().enumerate().filter(|(_, link)| *link == frame).map(|(place, _)| place);
        // The chain leaves out callers of frameless leaves, never adds any: its place is no further out than ours.
        let Some(same) = places().rfind(|place| *place <= at).or_else(|| places().next()) else {
            continue;
        };
        let rest = thread.chain.get(same + 1..).unwrap_or_default();
        if rest.len() < frames.len() - at - 1 {
            return ended;
        }
        frames.truncate(at + 1);
        frames.extend_from_slice(rest);
        // Where both end together, the chain knows no more. One link is no chain: it may be broken at once.
        return if rest.is_empty() && same == 0 { ended } else { by_chain };
    }
    if thread.chain.len() > frames.len() {
        frames.clear();
        frames.extend_from_slice(thread.chain);
        return by_chain;
    }
    ended
}

/// The return address of a second frame between a frame and its caller's, which has the same caller's frame.
fn replaced_caller(thread: &Snapshot<'_>, frame: u64, callers: u64) -> Option<u64> {
    // Behind the saved frame pointer and the return address.
    let from = frame.checked_add(16)?;
    let words = (callers.checked_sub(from)? / 8).min(MOST_WORDS);
    let found = (0..words).map(|number| from + number * 8).find(|at| word(thread, *at) == Some(callers))?;
    word(thread, found + 8)
        .filter(|address| (1..IF_REPLACED).contains(address))
        .map(|address| address | IF_REPLACED)
}

/// A word of the copied stack.
pub(crate) fn word(thread: &Snapshot<'_>, address: u64) -> Option<u64> {
    let at = usize::try_from(address.checked_sub(thread.registers.stack)?).ok()?;
    let bytes = thread.stack.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Whether an address lies behind the copy, rather than before it, where nothing but a mistake leads.
fn is_behind(thread: &Snapshot<'_>, address: u64) -> bool {
    address >= thread.registers.stack
}

#[cfg(test)]
mod tests {
    use super::*;
    use native_symbols::DebugFolders;

    fn unwinder() -> Unwinder {
        Unwinder::new(Modules::new(DebugFolders::default()))
    }

    /// Frames linked by their frame pointers: each is two words, the caller's frame and the return address.
    fn linked(frames: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in 0..frames {
            let next = if number + 1 < frames { 0x1000 + (number + 1) * 16 } else { 0 };
            bytes.extend_from_slice(&next.to_le_bytes());
            bytes.extend_from_slice(&(0x40_0000 + number).to_le_bytes());
        }
        bytes
    }

    #[test]
    fn frame_pointers_lead_to_the_start() {
        let stack = linked(5);
        let registers = Registers { instruction: 0x50_0000, stack: 0x1000, frame: 0x1000 };
        let snapshot = Snapshot { registers, stack: &stack, chain: &[], chain_cut: false };
        let mut frames = Vec::new();
        assert_eq!(unwinder().walk(&snapshot, &mut frames), Reached::Start);
        assert_eq!(frames.len(), 6);
    }

    #[test]
    fn the_kernels_chain_goes_on_where_the_copy_ends() {
        let stack = linked(5);
        let registers = Registers { instruction: 0x50_0000, stack: 0x1000, frame: 0x1000 };
        let chain = [0x50_0000, 0x40_0000, 0x40_0001, 0x40_0002, 0x40_0003, 0x40_0004];
        let snapshot = Snapshot { registers, stack: &stack[..40], chain: &chain, chain_cut: false };
        let mut frames = Vec::new();
        assert_eq!(unwinder().walk(&snapshot, &mut frames), Reached::EndOfChain);
        assert_eq!(frames, chain);
        let cut = Snapshot { chain_cut: true, ..snapshot };
        assert_eq!(unwinder().walk(&cut, &mut frames), Reached::Limit);
        // Without a chain the copy is all there is.
        let alone = Snapshot { chain: &[], ..snapshot };
        assert_eq!(unwinder().walk(&alone, &mut frames), Reached::EndOfCopy);
        assert_eq!(frames, chain[..3]);
    }

    #[test]
    fn a_replaced_frame_keeps_its_callers_address() {
        // The new code's frame, the old code's frame with the same caller's frame, the caller's frame.
        let words: [u64; 8] = [0x1030, 0x40_0001, 7, 0x1030, 0x40_0002, 8, 0, 0x40_0003];
        let stack = words.map(u64::to_le_bytes).concat();
        let registers = Registers { instruction: 0x50_0000, stack: 0x1000, frame: 0x1000 };
        let snapshot = Snapshot { registers, stack: &stack, chain: &[], chain_cut: false };
        let mut frames = Vec::new();
        assert_eq!(unwinder().walk(&snapshot, &mut frames), Reached::Start);
        assert_eq!(frames, [0x50_0000, 0x40_0001, 0x40_0002 | IF_REPLACED, 0x40_0003]);
    }

    #[test]
    fn recursion_is_continued_where_the_copy_ended() {
        // Every frame of a recursion returns to the same place: 40_0000 five times, then the start.
        let mut stack = linked(6);
        for frame in stack.chunks_exact_mut(16).take(5) {
            frame[8..].copy_from_slice(&0x40_0000u64.to_le_bytes());
        }
        let registers = Registers { instruction: 0x50_0000, stack: 0x1000, frame: 0x1000 };
        let mut chain = vec![0x50_0000];
        chain.extend([0x40_0000; 5]);
        chain.push(0x40_0005);
        let snapshot = Snapshot { registers, stack: &stack[..40], chain: &chain, chain_cut: false };
        let mut frames = Vec::new();
        assert_eq!(unwinder().walk(&snapshot, &mut frames), Reached::EndOfChain);
        assert_eq!(frames, chain, "no frame twice, none missing");
    }

    #[test]
    fn a_stack_that_leads_in_circles_ends() {
        let mut stack = linked(2);
        stack[16..24].copy_from_slice(&0x1000u64.to_le_bytes());
        let registers = Registers { instruction: 0x50_0000, stack: 0x1000, frame: 0x1000 };
        let snapshot = Snapshot { registers, stack: &stack, chain: &[], chain_cut: false };
        let mut frames = Vec::new();
        let _ = unwinder().walk(&snapshot, &mut frames);
        assert!(frames.len() <= MOST_FRAMES);
        let wild = Registers { instruction: u64::MAX, stack: u64::MAX - 4, frame: u64::MAX };
        let snapshot = Snapshot { registers: wild, stack: &stack, chain: &[], chain_cut: false };
        assert_ne!(unwinder().walk(&snapshot, &mut frames), Reached::Start);
    }
}
