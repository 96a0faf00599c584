//! The array of entry points: a tree of two branches per bit of the index, in blocks of 16.

const BLOCK: u32 = 16;

/// A sparse array in the bytes of a file.
pub(crate) struct NativeArray<'a> {
    bytes: &'a [u8],
    base: usize,
    count: u32,
    /// Bytes of an entry in the list of blocks, as a power of two.
    width: u32,
}

impl<'a> NativeArray<'a> {
    /// The array that begins at an offset; offsets in it may lead outside of its section, but not of the file.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Option<NativeArray<'a>> {
        let (head, base) = number(bytes, at)?;
        Some(NativeArray { bytes, base, count: head >> 2, width: head & 3 })
    }

    /// How many places it has; most may be empty.
    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    /// Where the value at an index stands.
    pub(crate) fn offset_of(&self, index: u32) -> Option<usize> {
        if index >= self.count {
            return None;
        }
        let block = usize::try_from(index / BLOCK).ok()?;
        let at = self.base.checked_add(block << self.width)?;
        let block = match self.width {
            0 => u32::from(*self.bytes.get(at)?),
            1 => u32::from(u16::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?)),
            _ => u32::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?),
        };
        let mut at = self.base.checked_add(usize::try_from(block).ok()?)?;
        let mut bit = BLOCK >> 1;
        while bit > 0 {
            let (value, behind) = number(self.bytes, at)?;
            if index & bit != 0 && value & 2 != 0 {
                at = at.checked_add(usize::try_from(value >> 2).ok()?)?;
            } else if index & bit == 0 && value & 1 != 0 {
                at = behind;
            } else {
                // A branch with one leaf is cut short: it says which.
                let only = value & 3 == 0 && value >> 2 == index & (BLOCK - 1);
                return only.then_some(behind);
            }
            bit >>= 1;
        }
        Some(at)
    }
}

/// A number of one to five bytes, and the offset behind it. The low bits of the first byte tell how many.
pub(crate) fn number(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let first = u32::from(*bytes.get(at)?);
    let byte = |distance: usize| bytes.get(at.checked_add(distance)?).map(|byte| u32::from(*byte));
    Some(match first.trailing_ones() {
        0 => (first >> 1, at + 1),
        1 => (first >> 2 | byte(1)? << 6, at + 2),
        2 => (first >> 3 | byte(1)? << 5 | byte(2)? << 13, at + 3),
        3 => (first >> 4 | byte(1)? << 4 | byte(2)? << 12 | byte(3)? << 20, at + 4),
        _ => (u32::from_le_bytes(*bytes.get(at + 1..)?.first_chunk()?), at + 5),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length() {
        assert_eq!(number(&[0b10], 0), Some((1, 1)));
        assert_eq!(number(&[0b01, 1], 0), Some((64, 2)));
        assert_eq!(number(&[0b011, 0, 1], 0), Some((8192, 3)));
        assert_eq!(number(&[0b0111, 0, 0, 1], 0), Some((1 << 20, 4)));
        assert_eq!(number(&[0b0_1111, 1, 2, 3, 4], 0), Some((0x0403_0201, 5)));
        assert_eq!(number(&[0b01], 0), None);
        assert_eq!(number(&[], 0), None);
    }

    #[test]
    fn an_array_of_one() {
        // One place, blocks listed with one byte each; the block: only the leaf of index 0.
        let bytes = [1 << 3, 1, 0, 0x54];
        let array = NativeArray::new(&bytes, 0).unwrap();
        assert_eq!(array.len(), 1);
        assert_eq!(array.offset_of(0), Some(3));
        assert_eq!(array.offset_of(1), None);
    }
}
