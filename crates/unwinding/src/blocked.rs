//! The stack of a thread that was read from outside while it waited: its frame register is not told.
//!
//! Most functions of the C library that block save the register, and then the walk finds it. If none did, the register is
//! still that of the innermost function that keeps a frame. Where that frame begins follows from the first instructions of
//! the function: they say how far below it the top of the stack is. What is found so must look like a frame: a return
//! address behind a call of this very function, as far as the call tells. If it does not, the stack ends there.

use crate::leaf::{Effect, prologue_instruction};
use crate::walk::{Walk, word};
use crate::{Reached, Registers, Snapshot, Unwinder};

/// Leads nowhere: a walk that needs the register ends.
const UNKNOWN: u64 = 1;
/// Bytes at the start of a function that are looked at.
const PROLOGUE: usize = 96;
/// The longest call instruction.
const CALL: u8 = 7;
/// More instructions than the start of a function has.
const MOST_INSTRUCTIONS: usize = 24;

/// Code of the process.
pub trait Code {
    /// Bytes of code from an address on; fewer if they are not there.
    fn read(&self, address: u64, most: usize) -> Vec<u8>;
    /// Whether code lies at an address.
    fn is_code(&self, address: u64) -> bool;
}

impl Unwinder {
    /// Walks the stack of a thread that waits at an instruction, with `stack` as the memory from its stack pointer on.
    pub fn walk_blocked(
        &mut self,
        instruction: u64,
        pointer: u64,
        stack: &[u8],
        code: &dyn Code,
        frames: &mut Vec<u64>,
    ) -> Reached {
        let registers = Registers { instruction, stack: pointer, frame: UNKNOWN };
        let thread = Snapshot { registers, stack, chain: &[], chain_cut: false };
        frames.clear();
        frames.push(instruction);
        let mut walk = Walk::begin(registers);
        let reached = self.go_on(&thread, &mut walk, frames);
        if reached != Reached::Broken || walk.registers.bp() != UNKNOWN {
            return reached;
        }
        match self.frame_register(&thread, &walk, code) {
            Found::Frame(frame) => {
                walk.registers.set_bp(frame);
                self.go_on(&thread, &mut walk, frames)
            }
            Found::BehindCopy => Reached::EndOfCopy,
            Found::Nothing => reached,
        }
    }

    fn frame_register(&self, thread: &Snapshot<'_>, walk: &Walk, code: &dyn Code) -> Found {
        let at = walk.address.address_for_lookup();
        let Some(start) = self.modules.function_start(at) else { return Found::Nothing };
        let inside = at.saturating_sub(start);
        let Some(distance) = below_frame(&code.read(start, PROLOGUE), inside) else { return Found::Nothing };
        let Some(frame) = walk.registers.sp().checked_add(distance) else { return Found::Nothing };
        let Some(caller) = frame.checked_add(8).and_then(|address| word(thread, address)) else {
            return Found::BehindCopy;
        };
        if code.is_code(caller) && is_call_of(code, caller, start) {
            Found::Frame(frame)
        } else {
            Found::Nothing
        }
    }
}

enum Found {
    Frame(u64),
    /// Its frame is not in the part of the stack that was read.
    BehindCopy,
    Nothing,
}

/// How many bytes the top of the stack is below the frame register, in the body of a function.
fn below_frame(code: &[u8], inside: u64) -> Option<u64> {
    let inside = usize::try_from(inside).ok()?;
    let mut offset = 0;
    let mut distance = None;
    for _ in 0..MOST_INSTRUCTIONS {
        let rest = code.get(offset..)?;
        let (length, effect) = prologue_instruction(rest);
        match (effect, &mut distance) {
            (Effect::Push, Some(distance)) => *distance += 8,
            (Effect::Reserve(bytes), Some(distance)) => *distance += u64::try_from(bytes).ok()?,
            (Effect::Frame, None) => distance = Some(frame_above_top(rest)?),
            (Effect::Push | Effect::Reserve(_), None) | (Effect::Nothing, _) => {}
            (Effect::Frame, Some(_)) => return None,
            (Effect::Other, _) => {
                // The top of the stack is moved to a round address: how far is not told.
                let rounds = matches!(rest, [0x48, 0x83 | 0x81, 0xe4, ..]);
                return distance.filter(|_| !rounds && offset <= inside);
            }
        }
        offset += length;
    }
    None
}

/// `mov rbp, rsp`, or `lea rbp, [rsp + n]`.
fn frame_above_top(code: &[u8]) -> Option<u64> {
    match code {
        [0x48, 0x8b, 0xec, ..] | [0x48, 0x89, 0xe5, ..] => Some(0),
        [0x48, 0x8d, 0x6c, 0x24, bytes, ..] => u64::try_from(i8::from_le_bytes([*bytes])).ok(),
        [0x48, 0x8d, 0xac, 0x24, a, b, c, d, ..] => u64::try_from(i32::from_le_bytes([*a, *b, *c, *d])).ok(),
        _ => None,
    }
}

/// Whether the instruction before a return address calls a function: this one, if it says which.
fn is_call_of(code: &dyn Code, caller: u64, function: u64) -> bool {
    let bytes = code.read(caller.saturating_sub(CALL.into()), CALL.into());
    if let [_, _, 0xe8, a, b, c, d] = bytes.as_slice() {
        let target = caller.wrapping_add_signed(i32::from_le_bytes([*a, *b, *c, *d]).into());
        return target == function || is_jump(&code.read(target, 16));
    }
    (2..=bytes.len()).any(|length| {
        let instruction = bytes.get(bytes.len() - length..).unwrap_or_default();
        indirect_call_length(instruction) == Some(length)
    })
}

/// How long a call through a register or memory is: `ff /2`, with what its operand needs.
fn indirect_call_length(code: &[u8]) -> Option<usize> {
    let [0xff, operand, rest @ ..] = code else { return None };
    let (mode, register) = (operand >> 6, operand & 7);
    let with_index = usize::from(mode != 3 && register == 4);
    let by_address =
        mode == 0 && (register == 5 || register == 4 && rest.first().is_some_and(|index| index & 7 == 5));
    let distance = match mode {
        1 => 1,
        2 => 4,
        _ if by_address => 4,
        _ => 0,
    };
    (operand >> 3 & 7 == 2).then_some(2 + with_index + distance)
}

/// A stub that leads elsewhere, as a library has for functions of others.
fn is_jump(code: &[u8]) -> bool {
    let code = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code);
    matches!(code, [0xff, 0x25, ..] | [0xf2, 0xff, 0x25, ..] | [0xe9, ..] | [0x68, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// push rbp; mov rbp, rsp; push r15; push rbx; sub rsp, 24; xor eax, eax
    const NATIVE: [u8; 13] = [0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x53, 0x48, 0x83, 0xec, 24, 0x31, 0xc0];

    struct Bytes(u64, Vec<u8>);

    impl Code for Bytes {
        fn read(&self, address: u64, most: usize) -> Vec<u8> {
            let from = usize::try_from(address.wrapping_sub(self.0)).unwrap_or(usize::MAX);
            self.1.get(from..).unwrap_or_default().iter().copied().take(most).collect()
        }

        fn is_code(&self, address: u64) -> bool {
            address.wrapping_sub(self.0) < self.1.len() as u64
        }
    }

    #[test]
    fn the_first_instructions_tell_how_large_a_frame_is() {
        assert_eq!(below_frame(&NATIVE, 12), Some(40));
        assert_eq!(below_frame(&NATIVE, 4), None, "not yet in its body");
        // push rbp; push rbx; sub rsp, 24; lea rbp, [rsp+32]; xor eax, eax
        let managed = [0x55, 0x53, 0x48, 0x83, 0xec, 24, 0x48, 0x8d, 0x6c, 0x24, 32, 0x33, 0xc0];
        assert_eq!(below_frame(&managed, 12), Some(32));
        // push rbp; mov rbp, rsp; and rsp, -32
        assert_eq!(below_frame(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0x90], 8), None);
        // push rbx; xor eax, eax: no frame
        assert_eq!(below_frame(&[0x53, 0x33, 0xc0], 2), None);
        for length in 0..NATIVE.len() {
            let _ = below_frame(&NATIVE[..length], u64::MAX);
        }
    }

    #[test]
    fn a_return_address_stands_behind_a_call() {
        let mut code = vec![0x90; 64];
        // At 0x1010: call 0x1030.
        code[0x10..0x15].copy_from_slice(&[0xe8, 0x1b, 0, 0, 0]);
        // At 0x1020: call [rax + 8]; at 0x1024: call rbx.
        code[0x20..0x23].copy_from_slice(&[0xff, 0x50, 0x08]);
        code[0x24..0x26].copy_from_slice(&[0xff, 0xd3]);
        let code = Bytes(0x1000, code);
        assert!(is_call_of(&code, 0x1015, 0x1030));
        assert!(!is_call_of(&code, 0x1015, 0x1038), "another function");
        assert!(is_call_of(&code, 0x1023, 0x1030));
        assert!(is_call_of(&code, 0x1026, 0x1030));
        // call [rax]; call [r12 + 8]; call [rip + 1]; call [rsp + 0x100]; jmp [rax]
        let lengths =
            [&[0xff, 0x10][..], &[0xff, 0x54, 0x24, 8], &[0xff, 0x15, 1, 0, 0, 0], &[0xff, 0x94, 0x24, 0, 1]];
        assert_eq!(lengths.map(indirect_call_length), [Some(2), Some(4), Some(6), Some(7)]);
        assert_eq!(indirect_call_length(&[0xff, 0x20]), None);
        assert!(!is_call_of(&code, 0x1008, 0x1030));
        assert!(!is_call_of(&code, 2, 0x1030));
    }
}
