//! The protocol's primitives: little-endian numbers, counted UTF-16 strings.

use crate::Guid;

/// Writes a payload.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn boolean(&mut self, value: bool) -> &mut Self {
        self.bytes.push(u8::from(value));
        self
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn guid(&mut self, guid: Guid) -> &mut Self {
        self.bytes.extend_from_slice(&guid.to_wire());
        self
    }

    /// Length of a list that follows. More than the protocol can hold is refused later, by the message's size.
    pub(crate) fn count(&mut self, count: usize) -> &mut Self {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Number of UTF-16 units with the final NUL, then the units. Empty texts are sent as null, as the
    /// runtime's own client does.
    pub(crate) fn string(&mut self, text: &str) -> &mut Self {
        if text.is_empty() {
            return self.u32(0);
        }
        let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
        self.count(units.len());
        for unit in units {
            self.bytes.extend_from_slice(&unit.to_le_bytes());
        }
        self
    }

    pub(crate) fn blob(&mut self, bytes: &[u8]) -> &mut Self {
        self.count(bytes.len());
        self.bytes.extend_from_slice(bytes);
        self
    }
}

/// What is wrong with a payload, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Which field.
    pub problem: &'static str,
    /// Offset of its first byte.
    pub offset: usize,
}

/// Reads a payload; cannot read past its end.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, offset: 0 }
    }

    fn take<const N: usize>(&mut self, problem: &'static str) -> Result<[u8; N], Damage> {
        let damage = Damage { problem, offset: self.offset };
        let rest = self.bytes.get(self.offset..).ok_or(damage)?;
        let found = *rest.first_chunk::<N>().ok_or(damage)?;
        self.offset += N;
        Ok(found)
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, Damage> {
        self.take(field).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, Damage> {
        self.take(field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, Damage> {
        self.take(field).map(u64::from_le_bytes)
    }

    pub(crate) fn guid(&mut self, field: &'static str) -> Result<Guid, Damage> {
        self.take(field).map(Guid::from_wire)
    }

    pub(crate) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Damage> {
        self.take(field)
    }

    /// A counted string. Units that are no UTF-16 become the replacement character: command lines may hold any.
    pub(crate) fn string(&mut self, field: &'static str) -> Result<String, Damage> {
        let damage = Damage { problem: field, offset: self.offset };
        let count = usize::try_from(self.u32(field)?).map_err(|_| damage)?;
        let length = count.checked_mul(2).ok_or(damage)?;
        let end = self.offset.checked_add(length).ok_or(damage)?;
        let bytes = self.bytes.get(self.offset..end).ok_or(damage)?;
        self.offset = end;
        let units = bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        let mut text: String =
            char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        if text.ends_with('\0') {
            text.pop();
        }
        Ok(text)
    }

    #[cfg(test)]
    pub(crate) fn at_end(&self) -> bool {
        self.offset >= self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(text in "[^\0]{0,60}", number: u64) {
            let mut writer = Writer::default();
            writer.u64(number).string(&text).u32(7);
            let mut reader = Reader::new(&writer.bytes);
            prop_assert_eq!(reader.u64("n"), Ok(number));
            prop_assert_eq!(reader.string("s"), Ok(text));
            prop_assert_eq!(reader.u32("t"), Ok(7));
            prop_assert!(reader.at_end());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let mut reader = Reader::new(&bytes);
            while reader.string("s").is_ok() && !reader.at_end() {}
        }
    }
}
