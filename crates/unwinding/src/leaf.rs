//! The frame that frame pointers miss.
//!
//! Code that keeps no frame of its own, or is interrupted before it has made one, still has its caller's frame pointer: the
//! walk finds the caller's caller. The missing return address lies on the stack, behind what the method has pushed so far,
//! which its first instructions tell.

/// What the first instructions of a method have done by the time of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// It has a frame of its own: frame pointers miss nothing.
    Own,
    /// Its return address lies this many words from the top of the stack.
    None {
        /// How many.
        words: usize,
    },
    /// Its code does something that is not understood.
    Unknown,
}

/// `pop rbp`.
const POP_RBP: u8 = 0x5d;

/// More pushes than a method has registers to save are a sign of something else.
const MOST_INSTRUCTIONS: usize = 24;

/// The return address of the innermost frame, if frame pointers have missed it: `code` is the method from its first byte on,
/// `at` the offset of the sampled instruction, `top` the words at the top of the stack.
#[must_use]
pub fn skipped_caller(code: &[u8], at: usize, top: &[u64]) -> Option<u64> {
    match frame_at(code, at) {
        Frame::None { words } => top.get(words).copied().filter(|address| *address != 0),
        Frame::Own | Frame::Unknown => None,
    }
}

/// What the method has done with the stack when the instruction at `at` comes next.
#[must_use]
pub fn frame_at(code: &[u8], at: usize) -> Frame {
    // A return, or a jump that takes its place: everything was given back.
    let before = at.checked_sub(1).and_then(|before| code.get(before));
    match code.get(at..) {
        Some([0xc3 | 0xc2, ..] | [0xf3, 0xc3, ..]) => return Frame::None { words: 0 },
        Some([0xe9, ..] | [0xff, 0xe0 | 0x25, ..] | [0x48, 0xff, 0xe0 | 0x25, ..])
            if before == Some(&POP_RBP) =>
        {
            return Frame::None { words: 0 };
        }
        _ => {}
    }
    let mut offset = 0;
    let mut words = 0;
    for _ in 0..MOST_INSTRUCTIONS {
        if offset >= at {
            return Frame::None { words };
        }
        let rest = code.get(offset..).unwrap_or_default();
        let (length, effect) = prologue_instruction(rest);
        match effect {
            Effect::Push => words += 1,
            Effect::Reserve(bytes) => words += bytes / 8,
            Effect::Frame => return if offset + length <= at { Frame::Own } else { Frame::None { words } },
            Effect::Nothing => {}
            // The prologue is over without a frame: the stack stays as it is until the end.
            Effect::Other => return after_prologue(code, at, words),
        }
        offset += length;
    }
    Frame::Unknown
}

/// In the body of a method without a frame. Its end gives back what its beginning took, so only the last instructions differ.
fn after_prologue(code: &[u8], at: usize, words: usize) -> Frame {
    let mut left = 0;
    let mut offset = at;
    // What is still to be given back before the return, when only such instructions follow.
    for _ in 0..MOST_INSTRUCTIONS {
        match code.get(offset..).unwrap_or_default() {
            [0xc3, ..] => return Frame::None { words: left },
            [0x58..=0x5f, ..] => (left, offset) = (left + 1, offset + 1),
            [0x41, 0x58..=0x5f, ..] => (left, offset) = (left + 1, offset + 2),
            [0x48, 0x83, 0xc4, bytes, ..] => (left, offset) = (left + usize::from(*bytes) / 8, offset + 4),
            [0x48, 0x81, 0xc4, a, b, c, d, ..] => {
                let bytes = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
                (left, offset) = (left + bytes / 8, offset + 7);
            }
            _ => return Frame::None { words },
        }
    }
    Frame::Unknown
}

pub(crate) enum Effect {
    Push,
    Reserve(usize),
    Frame,
    Nothing,
    Other,
}

/// The length of an instruction of a prologue, and what it does.
pub(crate) fn prologue_instruction(code: &[u8]) -> (usize, Effect) {
    match code {
        // endbr64, nop
        [0xf3, 0x0f, 0x1e, 0xfa, ..] => (4, Effect::Nothing),
        [0x90, ..] => (1, Effect::Nothing),
        [0x0f, 0x1f, 0x00, ..] => (3, Effect::Nothing),
        [0x0f, 0x1f, 0x40, _, ..] => (4, Effect::Nothing),
        [0x0f, 0x1f, 0x44, _, _, ..] => (5, Effect::Nothing),
        // vzeroupper
        [0xc5, 0xf8, 0x77, ..] => (3, Effect::Nothing),
        // push
        [0x50..=0x57, ..] => (1, Effect::Push),
        [0x41, 0x50..=0x57, ..] => (2, Effect::Push),
        // sub rsp, n
        [0x48, 0x83, 0xec, bytes, ..] => (4, Effect::Reserve(usize::from(*bytes))),
        [0x48, 0x81, 0xec, a, b, c, d, ..] => {
            (7, Effect::Reserve(u32::from_le_bytes([*a, *b, *c, *d]) as usize))
        }
        // mov rbp, rsp; lea rbp, [rsp+n]
        [0x48, 0x8b, 0xec, ..] | [0x48, 0x89, 0xe5, ..] => (3, Effect::Frame),
        [0x48, 0x8d, 0x6c, 0x24, _, ..] => (5, Effect::Frame),
        [0x48, 0x8d, 0xac, 0x24, _, _, _, _, ..] => (8, Effect::Frame),
        _ => (1, Effect::Other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// push rbp; push rbx; sub rsp, 24; lea rbp, [rsp+32]; xor eax, eax; ...; add rsp, 24; pop rbx; pop rbp; ret
    const WITH_FRAME: [u8; 22] = [
        0x55, 0x53, 0x48, 0x83, 0xec, 24, 0x48, 0x8d, 0x6c, 0x24, 32, 0x33, 0xc0, 0x90, 0x48, 0x83, 0xc4, 24,
        0x5b, 0x5d, 0xc3, 0xcc,
    ];
    /// push rbx; sub rsp, 16; xor eax, eax; add rsp, 16; pop rbx; ret
    const WITHOUT: [u8; 13] = [0x53, 0x48, 0x83, 0xec, 16, 0x33, 0xc0, 0x48, 0x83, 0xc4, 16, 0x5b, 0xc3];

    #[test]
    fn a_method_with_a_frame_misses_its_caller_only_at_its_edges() {
        assert_eq!(frame_at(&WITH_FRAME, 0), Frame::None { words: 0 });
        assert_eq!(frame_at(&WITH_FRAME, 1), Frame::None { words: 1 });
        assert_eq!(frame_at(&WITH_FRAME, 2), Frame::None { words: 2 });
        assert_eq!(frame_at(&WITH_FRAME, 6), Frame::None { words: 5 });
        assert_eq!(frame_at(&WITH_FRAME, 11), Frame::Own);
        assert_eq!(frame_at(&WITH_FRAME, 20), Frame::None { words: 0 });
    }

    #[test]
    fn a_method_without_a_frame_always_misses_it() {
        assert_eq!(frame_at(&WITHOUT, 0), Frame::None { words: 0 });
        assert_eq!(frame_at(&WITHOUT, 5), Frame::None { words: 3 });
        assert_eq!(frame_at(&WITHOUT, 7), Frame::None { words: 3 });
        assert_eq!(frame_at(&WITHOUT, 11), Frame::None { words: 1 });
        assert_eq!(frame_at(&WITHOUT, 12), Frame::None { words: 0 });
        assert_eq!(skipped_caller(&WITHOUT, 5, &[1, 2, 3, 0x40_0000]), Some(0x40_0000));
        assert_eq!(skipped_caller(&WITHOUT, 5, &[1, 2]), None);
    }

    #[test]
    fn a_jump_to_another_method_is_a_return() {
        // push rbp; mov rbp, rsp; pop rbp; jmp [rip+n]
        let code = [0x55, 0x48, 0x8b, 0xec, 0x5d, 0xff, 0x25, 0, 0, 0, 0];
        assert_eq!(frame_at(&code, 4), Frame::Own);
        assert_eq!(frame_at(&code, 5), Frame::None { words: 0 });
    }

    #[test]
    fn no_code_makes_it_panic() {
        for first in 0..=255 {
            for second in [0, 0x24, 0x48, 0x83, 0xec, 0xff] {
                for length in 0..8 {
                    let code = [first, second, 0xec, 0xff, 0xff, 0xff, 0xff, 0xff];
                    let _ = skipped_caller(&code[..length], 3, &[]);
                    let _ = skipped_caller(&code[..length], usize::MAX - 1, &[]);
                }
            }
        }
    }
}
