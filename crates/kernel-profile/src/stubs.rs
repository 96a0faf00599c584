//! What a piece of the runtime's glue is, by its code (x64). The runtime tells of none of it.

/// So much of the code around an address is looked at, on both sides.
pub(crate) const AROUND: usize = 32;

/// A byte of a pattern; none stands for any.
type Pattern = &'static [Option<u8>];

/// Any byte.
const A: Option<u8> = None;

const fn b(byte: u8) -> Option<u8> {
    Some(byte)
}

/// mov r10, [rip+n]; jmp [rip+n]: finds or compiles the method when it is first called.
const PRECODE: Pattern = &[b(0x4c), b(0x8b), b(0x15), A, A, A, A, b(0xff), b(0x25), A, A, A, A];
/// jmp [rip+n]; mov r10, [rip+n]; jmp [rip+n]
const FIXUP_PRECODE: Pattern =
    &[b(0xff), b(0x25), A, A, A, A, b(0x4c), b(0x8b), b(0x15), A, A, A, A, b(0xff), b(0x25), A, A, A, A];
/// mov rax, [rip+n]; dec word \[rax\]; je; jmp [rip+n]: counts calls until a method is worth a better compilation.
const CALL_COUNTING: Pattern = &[
    b(0x48),
    b(0x8b),
    b(0x05),
    A,
    A,
    A,
    A,
    b(0x66),
    b(0xff),
    b(0x08),
    b(0x74),
    A,
    b(0xff),
    b(0x25),
    A,
    A,
    A,
    A,
];
/// The same in 3.1 and 5: mov rax, n; dec word \[rax\].
const OLD_CALL_COUNTING: Pattern = &[
    b(0x48),
    b(0xb8),
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    b(0x66),
    b(0xff),
    b(0x08),
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    A,
];
/// mov rax, type; cmp \[rdi\], rax: a call through an interface.
const DISPATCH: Pattern = &[
    b(0x48),
    b(0xb8),
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    b(0x48),
    b(0x39),
    b(0x07),
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    A,
    A,
];
/// mov \[rdi\], rsi; ... : a reference is written, and the collector told where.
const WRITE_BARRIER: Pattern = &[b(0x48), b(0x89), b(0x37)];

/// What lies at `at` in `code`, of which a little stands before and behind, if it is of a known kind.
pub(crate) fn kind(code: &[u8], at: usize) -> Option<&'static str> {
    // Longer ones first: a precode is a part of another.
    let kinds = [
        (CALL_COUNTING, CALL_COUNTING.len(), "[stub: call counting]"),
        (OLD_CALL_COUNTING, OLD_CALL_COUNTING.len(), "[stub: call counting]"),
        (FIXUP_PRECODE, FIXUP_PRECODE.len(), "[stub: precode]"),
        (PRECODE, PRECODE.len(), "[stub: precode]"),
        (DISPATCH, DISPATCH.len(), "[stub: interface call]"),
        // Only its beginning is the same in all kinds of it.
        (WRITE_BARRIER, AROUND, "[stub: write barrier]"),
    ];
    for (pattern, length, name) in kinds {
        let first = at.saturating_sub(length - 1);
        if (first..=at).any(|start| fits(code.get(start..).unwrap_or_default(), pattern)) {
            return Some(name);
        }
    }
    None
}

fn fits(code: &[u8], pattern: Pattern) -> bool {
    code.len() >= pattern.len()
        && pattern.iter().zip(code).all(|(wanted, byte)| wanted.is_none_or(|wanted| wanted == *byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(code: &[u8], inside: usize) -> Option<&'static str> {
        let mut bytes = vec![0xcc; AROUND];
        bytes.extend_from_slice(code);
        bytes.extend([0xcc; AROUND]);
        kind(&bytes, AROUND + inside)
    }

    #[test]
    fn kinds_are_told_by_their_code() {
        let precode = [0x4c, 0x8b, 0x15, 1, 2, 3, 4, 0xff, 0x25, 1, 2, 3, 4];
        assert_eq!(around(&precode, 0), Some("[stub: precode]"));
        assert_eq!(around(&precode, 7), Some("[stub: precode]"));
        assert_eq!(around(&precode, 13), None, "behind it");
        let counting = [0x48, 0x8b, 0x05, 1, 2, 3, 4, 0x66, 0xff, 0x08, 0x74, 6, 0xff, 0x25, 1, 2, 3, 4];
        assert_eq!(around(&counting, 7), Some("[stub: call counting]"));
        assert_eq!(around(&[0x48, 0x89, 0x37, 0x48, 0xc1, 0xef, 0x0b], 3), Some("[stub: write barrier]"));
        assert_eq!(around(&[0x90; 8], 2), None);
    }

    #[test]
    fn no_code_and_cut_code_are_just_stubs() {
        for length in 0..16 {
            for at in [0, 3, 100] {
                assert_eq!(kind(&vec![0x48; length], at), None);
            }
        }
    }
}
