//! Where functions begin, by the index of the unwind tables.

use crate::modules::Bytes;

/// What every compiler writes: offsets of four bytes from the index itself, and a count of four bytes.
const USUAL: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
/// Version, encodings, the address of the tables, the count.
const HEAD: usize = 12;

/// The index of the unwind tables (`.eh_frame_hdr`): one entry per function, by address.
#[derive(Default)]
pub(crate) struct Starts {
    bytes: Option<Bytes>,
    /// The address that the index is linked for.
    linked: u64,
    count: usize,
}

impl Starts {
    /// From the bytes of the section; none if it is not written in the usual way.
    pub(crate) fn new(bytes: Bytes, linked: u64) -> Option<Starts> {
        if bytes.get(..4)? != USUAL {
            return None;
        }
        let count = u32::from_le_bytes(bytes.get(8..HEAD)?.try_into().ok()?) as usize;
        let count = count.min((bytes.len() - HEAD) / 8);
        Some(Starts { bytes: Some(bytes), linked, count })
    }

    /// The start of the function at a linked address.
    pub(crate) fn before(&self, address: u64) -> Option<u64> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if self.start(middle)? <= address { low = middle + 1 } else { high = middle }
        }
        self.start(low.checked_sub(1)?)
    }

    fn start(&self, entry: usize) -> Option<u64> {
        let at = HEAD + entry * 8;
        let offset = i32::from_le_bytes(self.bytes.as_ref()?.get(at..at + 4)?.try_into().ok()?);
        Some(self.linked.wrapping_add_signed(offset.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(starts: &[i32], count: u32) -> Bytes {
        let mut bytes = USUAL.to_vec();
        bytes.extend([0; 4]);
        bytes.extend(count.to_le_bytes());
        for start in starts {
            bytes.extend(start.to_le_bytes());
            bytes.extend([0; 4]);
        }
        bytes.into()
    }

    #[test]
    fn an_address_finds_the_start_before_it() {
        let starts = Starts::new(index(&[-0x100, 0x40, 0x80], 3), 0x1000).unwrap();
        assert_eq!(starts.before(0xf00), Some(0xf00));
        assert_eq!(starts.before(0x103f), Some(0xf00));
        assert_eq!(starts.before(0x1041), Some(0x1040));
        assert_eq!(starts.before(u64::MAX), Some(0x1080));
        assert_eq!(starts.before(0xeff), None);
    }

    #[test]
    fn a_cut_or_strange_index_finds_nothing_wrong() {
        let starts = Starts::new(index(&[0x10], u32::MAX), 0).unwrap();
        assert_eq!(starts.before(0x20), Some(0x10));
        assert!(Starts::new(vec![1, 0x1b, 3].into(), 0).is_none());
        assert!(Starts::new(vec![2; 64].into(), 0).is_none());
        assert_eq!(Starts::default().before(7), None);
    }
}
