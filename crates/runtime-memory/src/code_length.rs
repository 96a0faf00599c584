//! How long the code of a method is: the first number in what the compiler notes for the garbage collector.

/// Bits of the flags behind a head that is not short.
const FLAGS: u32 = 10;
/// A number has so many bits in each part, and one more that says whether another part follows.
const PART: u32 = 8;
/// No method is longer.
const LONGEST: u64 = 64 << 20;

/// So many bytes of the notes hold the length.
pub(crate) const NEEDED: usize = 8;

/// How the notes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notes {
    /// .NET 9 and before: what kind of value the method returns stands before the length.
    WithReturnKind,
    /// .NET 10.
    WithoutReturnKind,
}

/// The length of the code, from the first bytes of the notes.
pub(crate) fn code_length(notes: [u8; NEEDED], kind: Notes) -> Option<u32> {
    let mut bits = u64::from_le_bytes(notes);
    let is_long = bits & 1 == 1;
    bits >>= match (is_long, kind) {
        (true, Notes::WithoutReturnKind) => 1 + FLAGS,
        (true, Notes::WithReturnKind) => 1 + FLAGS + 4,
        (false, Notes::WithoutReturnKind) => 2,
        (false, Notes::WithReturnKind) => 2 + 2,
    };
    let mut length = 0;
    for part in 0..4 {
        length |= (bits & ((1 << PART) - 1)) << (part * PART);
        let goes_on = bits >> PART & 1 == 1;
        bits >>= PART + 1;
        if !goes_on {
            return u32::try_from(length).ok().filter(|length| (1..=LONGEST).contains(&u64::from(*length)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_heads_are_read() {
        // 300 = 1 * 256 + 44: the part 44 with its bit, then 1.
        let number: u64 = (44 | 1 << 8) | 1 << 9;
        let length = |bits: u64, kind| code_length(bits.to_le_bytes(), kind);
        assert_eq!(length(number << 2, Notes::WithoutReturnKind), Some(300));
        assert_eq!(length(number << 2 | 2, Notes::WithoutReturnKind), Some(300));
        assert_eq!(length(number << 11 | 1, Notes::WithoutReturnKind), Some(300));
        assert_eq!(length(number << 4 | 2, Notes::WithReturnKind), Some(300));
        assert_eq!(length(number << 15 | 1, Notes::WithReturnKind), Some(300));
        assert_eq!(length(0, Notes::WithoutReturnKind), None);
        assert_eq!(length(u64::MAX, Notes::WithReturnKind), None);
    }
}
