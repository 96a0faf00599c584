//! Numbers in metadata, each read with its bounds checked.

use crate::SymbolError;

/// Reads one value behind the other.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(all: &'a [u8], at: usize) -> Bytes<'a> {
        Bytes { all, at }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn all(&self) -> &'a [u8] {
        self.all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.all.len()
    }

    pub(super) fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], SymbolError> {
        let end = self.at.checked_add(count);
        let taken = end.and_then(|end| self.all.get(self.at..end));
        let taken = taken.ok_or(SymbolError::Damaged { what, at: self.at })?;
        self.at += count;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], SymbolError> {
        let at = self.at;
        self.take(N, what)?.try_into().map_err(|_| SymbolError::Damaged { what, at })
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, SymbolError> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, SymbolError> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, SymbolError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// An index of two or four bytes.
    pub(super) fn index(&mut self, width: Width, what: &'static str) -> Result<u32, SymbolError> {
        match width {
            Width::Two => self.u16(what).map(u32::from),
            Width::Four => self.u32(what),
        }
    }

    /// A number in one, two or four bytes (ECMA-335, II.23.2).
    pub(super) fn compressed(&mut self, what: &'static str) -> Result<u32, SymbolError> {
        Ok(self.compressed_with_bits(what)?.0)
    }

    /// The same with sign, whose bit was moved to the lower end.
    pub(super) fn compressed_signed(&mut self, what: &'static str) -> Result<i32, SymbolError> {
        let (value, bits) = self.compressed_with_bits(what)?;
        let magnitude = value >> 1;
        let ones = if value & 1 == 1 { u32::MAX << (bits - 1) } else { 0 };
        Ok((magnitude | ones).cast_signed())
    }

    fn compressed_with_bits(&mut self, what: &'static str) -> Result<(u32, u32), SymbolError> {
        let at = self.at;
        let [first] = self.array(what)?;
        let first_bits = |mask: u8| u32::from(first & mask);
        if first & 0x80 == 0 {
            return Ok((u32::from(first), 7));
        }
        if first & 0x40 == 0 {
            let [second] = self.array(what)?;
            return Ok((first_bits(0x3F) << 8 | u32::from(second), 14));
        }
        if first & 0x20 == 0 {
            let [b, c, d] = self.array(what)?;
            return Ok((u32::from_be_bytes([first & 0x1F, b, c, d]), 29));
        }
        Err(SymbolError::Damaged { what, at })
    }
}

/// How wide an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Two,
    Four,
}

impl Width {
    /// Wide enough for the rows of a table.
    pub(super) fn for_rows(rows: u32) -> Width {
        if rows < 0x1_0000 { Width::Two } else { Width::Four }
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Width::Two => 2,
            Width::Four => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compressed_as_the_standard_says() {
        // The examples of ECMA-335, II.23.2.
        for (bytes, value) in [
            (&[0x03u8][..], 0x03),
            (&[0x7F], 0x7F),
            (&[0x80, 0x80], 0x80),
            (&[0xAE, 0x57], 0x2E57),
            (&[0xBF, 0xFF], 0x3FFF),
            (&[0xC0, 0x00, 0x40, 0x00], 0x4000),
            (&[0xDF, 0xFF, 0xFF, 0xFF], 0x1FFF_FFFF),
        ] {
            assert_eq!(Bytes::new(bytes, 0).compressed("").unwrap(), value);
        }
        for (bytes, value) in [
            (&[0x06u8][..], 3),
            (&[0x7B], -3),
            (&[0x80, 0x80], 64),
            (&[0x01], -64),
            (&[0xC0, 0x00, 0x40, 0x00], 8192),
            (&[0x80, 0x01], -8192),
            (&[0xDF, 0xFF, 0xFF, 0xFE], 268_435_455),
            (&[0xC0, 0x00, 0x00, 0x01], -268_435_456),
        ] {
            assert_eq!(Bytes::new(bytes, 0).compressed_signed("").unwrap(), value);
        }
        assert!(Bytes::new(&[0xFF], 0).compressed("").is_err());
        assert!(Bytes::new(&[0x80], 0).compressed("").is_err());
    }
}
