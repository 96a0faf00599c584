//! The 16 bytes that name a class or an interface.

use std::fmt;

/// A class or interface id, laid out as the runtime passes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Guid {
    first: u32,
    second: u16,
    third: u16,
    rest: [u8; 8],
}

impl Guid {
    /// The id whose usual text is this number in hexadecimal, read from left to right.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the number is cut into its parts")]
    pub const fn new(number: u128) -> Self {
        let rest = (number as u64).to_be_bytes();
        Guid {
            first: (number >> 96) as u32,
            second: (number >> 80) as u16,
            third: (number >> 64) as u16,
            rest,
        }
    }

    /// The number that [`Guid::new`] took.
    #[must_use]
    pub const fn number(self) -> u128 {
        let head =
            ((self.first as u128) << 96) | ((self.second as u128) << 80) | ((self.third as u128) << 64);
        head | u64::from_be_bytes(self.rest) as u128
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guid({:032x})", self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_where_the_runtime_looks_for_them() {
        let number = 0x28B5_557D_3F3F_48B4_90B2_5F9E_EA2F_6C48;
        let guid = Guid::new(number);
        assert_eq!((guid.first, guid.second, guid.third), (0x28B5_557D, 0x3F3F, 0x48B4));
        assert_eq!(guid.rest, [0x90, 0xB2, 0x5F, 0x9E, 0xEA, 0x2F, 0x6C, 0x48]);
        assert_eq!(guid.number(), number);
        assert_eq!((size_of::<Guid>(), align_of::<Guid>()), (16, 4));
    }
}
