//! Reading the fields of a payload.

use std::fmt;

use crate::cursor::{Cursor, Fault, FaultKind, Parsed, utf16_text};
use crate::{Error, Guid, PointerSize};

/// Text in a payload that is not copied until it is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Utf16<'a> {
    bytes: &'a [u8],
}

impl<'a> Utf16<'a> {
    /// Its units without the zero at the end, little endian: the same bytes are the same text.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl fmt::Display for Utf16<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&utf16_text(self.bytes))
    }
}

impl PartialEq<str> for Utf16<'_> {
    fn eq(&self, other: &str) -> bool {
        let units = self.bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
        units.eq(other.encode_utf16())
    }
}

impl PartialEq<&str> for Utf16<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

/// Takes a payload apart, one field after the other. A field that is not there is an error and takes nothing.
#[derive(Clone, Debug)]
pub struct PayloadReader<'a> {
    payload: &'a [u8],
    cursor: Cursor<'a>,
    pointer_size: PointerSize,
}

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        pub fn $name(&mut self) -> Result<$type, Error> {
            self.field(|cursor| cursor.$name(stringify!($name)))
        }
    )*};
}

impl<'a> PayloadReader<'a> {
    /// Reads a payload of a trace with addresses of this size.
    #[must_use]
    pub fn new(payload: &'a [u8], pointer_size: PointerSize) -> Self {
        PayloadReader { payload, cursor: Cursor::new(payload), pointer_size }
    }

    fn field<T>(&mut self, read: impl FnOnce(&mut Cursor<'a>) -> Parsed<T>) -> Result<T, Error> {
        let mut cursor = self.cursor;
        let value = read(&mut cursor).map_err(|Fault { at, what, kind }| match kind {
            FaultKind::Short => Error::Payload { at, what, problem: "the payload ends before it does" },
            FaultKind::Invalid(problem) => Error::Payload { at, what, problem },
        })?;
        self.cursor = cursor;
        Ok(value)
    }

    fields! {
        /// A byte.
        u8: u8;
        /// A byte with sign.
        i8: i8;
        /// Two bytes.
        u16: u16;
        /// Two bytes with sign.
        i16: i16;
        /// Four bytes.
        u32: u32;
        /// Four bytes with sign.
        i32: i32;
        /// Eight bytes.
        u64: u64;
        /// Eight bytes with sign.
        i64: i64;
        /// A float of four bytes.
        f32: f32;
        /// A float of eight bytes.
        f64: f64;
        /// A number in groups of seven bits.
        var_u64: u64;
        /// A number with sign in groups of seven bits.
        var_i64: i64;
        /// A 128-bit id.
        guid: Guid;
    }

    /// A boolean of four bytes, as EventSource writes it.
    pub fn bool32(&mut self) -> Result<bool, Error> {
        Ok(self.u32()? != 0)
    }

    /// A boolean of one byte.
    pub fn bool8(&mut self) -> Result<bool, Error> {
        Ok(self.u8()? != 0)
    }

    /// An address or another number of the size of a pointer.
    pub fn pointer(&mut self) -> Result<u64, Error> {
        match self.pointer_size {
            PointerSize::Four => self.u32().map(u64::from),
            PointerSize::Eight => self.u64(),
        }
    }

    /// UTF-16 up to a zero.
    pub fn utf16(&mut self) -> Result<Utf16<'a>, Error> {
        self.field(|cursor| cursor.utf16_bytes("utf16")).map(|bytes| Utf16 { bytes })
    }

    /// Some bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Error> {
        self.field(|cursor| cursor.take(count, "bytes"))
    }

    /// A count of two bytes and as many elements.
    pub fn array<T>(
        &mut self,
        mut element: impl FnMut(&mut PayloadReader<'a>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut reader = self.clone();
        let count = reader.u16()?;
        let elements = (0..count).map(|_| element(&mut reader)).collect::<Result<_, _>>()?;
        *self = reader;
        Ok(elements)
    }

    /// The bytes of an array whose position is counted from behind this field.
    pub fn relative_array(&mut self) -> Result<&'a [u8], Error> {
        let mut reader = self.clone();
        let place = reader.u32()?;
        let bytes = reader.at_place(reader.cursor.at(), place)?;
        *self = reader;
        Ok(bytes)
    }

    /// The bytes of an array whose position is counted from the start of the payload.
    pub fn absolute_array(&mut self) -> Result<&'a [u8], Error> {
        let mut reader = self.clone();
        let place = reader.u32()?;
        let bytes = reader.at_place(0, place)?;
        *self = reader;
        Ok(bytes)
    }

    fn at_place(&self, origin: usize, place: u32) -> Result<&'a [u8], Error> {
        let [low, high] = [place & 0xFFFF, place >> 16].map(|half| half as usize);
        let problem = "it lies outside the payload";
        let start = origin + low;
        self.payload.get(start..start + high).ok_or(Error::Payload { at: start, what: "array", problem })
    }

    /// What has not been read.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.cursor.rest()
    }

    /// Whether everything has been read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cursor.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_one_after_the_other() {
        let bytes = b"\x01\x00\x00\x00\xFE\xFFh\0i\0\0\0\x02\0\x05\x06\x00\x00\x80\x3F\x81\x01\x01";
        let mut reader = PayloadReader::new(bytes, PointerSize::Four);
        assert!(reader.bool32().unwrap());
        assert_eq!(reader.i16().unwrap(), -2);
        let text = reader.utf16().unwrap();
        assert!(text == "hi" && text != "hj" && !text.is_empty());
        assert_eq!(format!("{text:>4}"), "  hi");
        assert_eq!(reader.array(PayloadReader::u8).unwrap(), [5, 6]);
        assert_eq!(reader.f32().unwrap().to_bits(), 1_f32.to_bits());
        assert_eq!(reader.var_u64().unwrap(), 129);
        assert_eq!(reader.rest(), [1]);
        assert!(reader.pointer().is_err() && reader.bool8().unwrap() && reader.is_empty());
    }

    #[test]
    fn what_is_not_there_takes_nothing() {
        let mut reader = PayloadReader::new(&[3, 0, 1, 2], PointerSize::Eight);
        assert!(reader.array(PayloadReader::u8).is_err());
        assert!(reader.u64().is_err() && reader.utf16().is_err() && reader.guid().is_err());
        let error = reader.pointer().unwrap_err().to_string();
        assert_eq!(error, "byte 0 of the payload: u64: the payload ends before it does");
        assert_eq!(reader.u32().unwrap(), 0x0201_0003);
    }

    #[test]
    fn arrays_elsewhere() {
        let bytes = [8, 0, 2, 0, 1, 0, 2, 0, 0xA, 0xB, 0xC];
        let mut reader = PayloadReader::new(&bytes, PointerSize::Eight);
        assert_eq!(reader.absolute_array().unwrap(), [0xA, 0xB]);
        assert_eq!(reader.relative_array().unwrap(), [0xB, 0xC]);
        let mut reader = PayloadReader::new(&[9, 0, 9, 0], PointerSize::Eight);
        assert!(reader.relative_array().is_err() && reader.absolute_array().is_err());
        assert_eq!(reader.rest().len(), 4);
    }
}
