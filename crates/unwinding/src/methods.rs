//! Managed methods that keep no frame of their own, in the middle of a stack.
//!
//! A small method may push what it needs and call another without a frame. Frame pointers then lead from it to its caller's
//! caller. What its first instructions push tells where its return address is. That needs its start, which the runtime
//! tells when it tells of code.

use std::collections::BTreeMap;

use framehop::FrameAddress;

use crate::leaf::{Effect, prologue_instruction};
use crate::walk::Walk;

/// More methods than a process compiles.
const MOST_METHODS: usize = 1 << 20;
/// Places in methods that are remembered.
const MOST_PLACES: usize = 1 << 18;
/// Bytes at the start of a method that are looked at.
const PROLOGUE: usize = 96;
/// More instructions than the start of a method has.
const MOST_INSTRUCTIONS: usize = 24;
/// `push rbp`.
const PUSH_FRAME: u8 = 0x55;

type Reader = Box<dyn Fn(u64, usize) -> Vec<u8> + Send>;

/// What a method without a frame has on the stack when it calls another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pushed {
    /// Words below its return address.
    words: u64,
    /// Words below the frame register that it saved, if it did.
    frame: Option<u64>,
}

/// Managed code and how it is read.
#[derive(Default)]
pub struct Methods {
    /// Ends by starts.
    ranges: BTreeMap<u64, u64>,
    places: BTreeMap<u64, Option<Pushed>>,
    reader: Option<Reader>,
}

impl Methods {
    /// None yet, of a process whose code is read so.
    #[must_use]
    pub fn new(reader: impl Fn(u64, usize) -> Vec<u8> + Send + 'static) -> Methods {
        Methods { reader: Some(Box::new(reader)), ..Methods::default() }
    }

    /// A method is there.
    pub fn add(&mut self, start: u64, bytes: u32) {
        let end = start.saturating_add(bytes.into());
        if self.ranges.len() >= MOST_METHODS && !self.ranges.contains_key(&start) {
            return;
        }
        let before = self.ranges.insert(start, end);
        // Other code was here, or nothing was known of it.
        if before != Some(end) {
            let over: Vec<u64> = self.places.range(start..=end).map(|(place, _)| *place).collect();
            over.iter().for_each(|place| _ = self.places.remove(place));
        }
    }

    /// Goes from a method without a frame to its caller. `None` if that is for others to do.
    pub(crate) fn leave(
        &mut self,
        walk: &mut Walk,
        by_tables: bool,
        read: &mut dyn FnMut(u64) -> Result<u64, ()>,
    ) -> Option<u64> {
        let FrameAddress::ReturnAddress(address) = walk.address else { return None };
        if by_tables {
            return None;
        }
        let pushed = self.pushed(address.get())?;
        let top = walk.registers.sp();
        let at = top.checked_add(pushed.words.checked_mul(8)?)?;
        let caller = read(at).ok()?;
        // A return address lies in code, and that is never at such addresses.
        if !(1 << 16..1 << 47).contains(&caller) {
            return None;
        }
        if let Some(words) = pushed.frame {
            let frame = read(top.checked_add(words.checked_mul(8)?)?).ok()?;
            walk.registers.set_bp(frame);
        }
        walk.registers.set_ip(caller);
        walk.registers.set_sp(at.checked_add(8)?);
        Some(caller)
    }

    fn pushed(&mut self, address: u64) -> Option<Pushed> {
        if let Some(known) = self.places.get(&address) {
            return *known;
        }
        let pushed = self.find(address);
        if self.places.len() >= MOST_PLACES {
            self.places.clear();
        }
        self.places.insert(address, pushed);
        pushed
    }

    fn find(&self, address: u64) -> Option<Pushed> {
        let (start, end) = self.ranges.range(..address).next_back()?;
        let inside = address.checked_sub(*start).filter(|_| address <= *end)?;
        pushes(&self.reader.as_ref()?(*start, PROLOGUE), inside)
    }
}

/// What a method without a frame has pushed in its body; `None` if it has a frame, or is not understood.
fn pushes(code: &[u8], inside: u64) -> Option<Pushed> {
    let (mut offset, mut words, mut frame_at) = (0_usize, 0_u64, None);
    for _ in 0..MOST_INSTRUCTIONS {
        let rest = code.get(offset..).filter(|rest| !rest.is_empty())?;
        let (length, effect) = prologue_instruction(rest);
        match effect {
            Effect::Push => {
                words += 1;
                if rest.first() == Some(&PUSH_FRAME) {
                    frame_at = Some(words);
                }
            }
            Effect::Reserve(bytes) if bytes % 8 == 0 => words += u64::try_from(bytes / 8).ok()?,
            Effect::Nothing => {}
            Effect::Frame | Effect::Reserve(_) => return None,
            Effect::Other => {
                let body = u64::try_from(offset).is_ok_and(|offset| offset <= inside);
                return body.then_some(Pushed { words, frame: frame_at.map(|at| words - at) });
            }
        }
        offset += length;
    }
    None
}

#[cfg(test)]
mod tests {
    use native_symbols::DebugFolders;

    use super::*;
    use crate::{Modules, Reached, Registers, Snapshot, Unwinder};

    /// push rax; xor esi, esi; call ...
    const SMALL: [u8; 8] = [0x50, 0x33, 0xf6, 0xe8, 0, 0, 0, 0];
    /// push rbp; push rbx; sub rsp, 8; mov ebx, edi
    const SAVES: [u8; 8] = [0x55, 0x53, 0x48, 0x83, 0xec, 8, 0x8b, 0xdf];
    /// push rbp; mov rbp, rsp; xor esi, esi
    const FRAMED: [u8; 6] = [0x55, 0x48, 0x8b, 0xec, 0x33, 0xf6];

    #[test]
    fn pushes_are_counted_in_methods_without_a_frame() {
        assert_eq!(pushes(&SMALL, 8), Some(Pushed { words: 1, frame: None }));
        assert_eq!(pushes(&SAVES, 8), Some(Pushed { words: 3, frame: Some(2) }));
        assert_eq!(pushes(&FRAMED, 6), None);
        assert_eq!(pushes(&[], 6), None);
        for length in 0..SAVES.len() {
            let _ = pushes(&SAVES[..length], u64::MAX);
        }
    }

    #[test]
    fn the_caller_of_a_method_without_a_frame_is_found() {
        let mut unwinder = Unwinder::new(Modules::new(DebugFolders::default()));
        unwinder.methods =
            Methods::new(|start, _| if start == 0x40_0000 { SMALL.to_vec() } else { FRAMED.to_vec() });
        // The innermost has a frame and was called by the small one, which was called by another with a frame.
        let words: [u64; 7] = [0x1020, 0x40_0008, 77, 0x50_0006, 0, 0x60_0006, 0];
        let stack = words.map(u64::to_le_bytes).concat();
        let registers = Registers { instruction: 0x70_0000, stack: 0x1000, frame: 0x1000 };
        let snapshot = Snapshot { registers, stack: &stack, chain: &[], chain_cut: false };
        let mut frames = Vec::new();
        unwinder.walk(&snapshot, &mut frames);
        assert_eq!(frames, [0x70_0000, 0x40_0008, 0x60_0006], "nobody has told of it yet");
        unwinder.methods.add(0x40_0000, 8);
        unwinder.methods.add(0x50_0000, 8);
        assert_eq!(unwinder.walk(&snapshot, &mut frames), Reached::Start);
        assert_eq!(frames, [0x70_0000, 0x40_0008, 0x50_0006, 0x60_0006]);
    }
}
