//! Numbers out of a slice that cannot be read past its end.

/// Little-endian numbers at offsets; nothing where there is no such offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..)?.first_chunk().copied()
    }

    pub(crate) fn u8(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    pub(crate) fn u16(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// A 32-bit number as an offset or a count.
    pub(crate) fn size(self, at: usize) -> Option<usize> {
        usize::try_from(self.u32(at)?).ok()
    }

    pub(crate) fn part(self, from: usize, length: usize) -> Option<Bytes<'a>> {
        self.0.get(from..from.checked_add(length)?).map(Bytes)
    }

    /// A text that ends with a NUL.
    pub(crate) fn text(self, at: usize) -> Option<&'a str> {
        let rest = self.0.get(at..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok()
    }
}
