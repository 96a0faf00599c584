//! A slice that is read from the front and cannot be read past its end.

use std::borrow::Cow;
use std::ops::Range;

use crate::Guid;

/// What is wrong at a place of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Bytes from the start of the slice.
    pub at: usize,
    /// The field.
    pub what: &'static str,
    pub kind: FaultKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// The slice ends before the field does.
    Short,
    /// The field has a value it cannot have.
    Invalid(&'static str),
}

impl Fault {
    /// The same in something whose size is known: it was not cut off, a size in it is wrong.
    #[cold]
    pub fn within(self) -> Fault {
        match self.kind {
            FaultKind::Short => Fault { kind: FaultKind::Invalid("it reaches beyond what holds it"), ..self },
            _ => self,
        }
    }
}

pub(crate) type Parsed<T> = Result<T, Fault>;

/// The part of a slice that is still to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    /// Where the slice ends, counted from where its positions start.
    end: usize,
}

macro_rules! numbers {
    ($($name:ident: $type:ty;)*) => {$(
        #[inline]
        pub fn $name(&mut self, what: &'static str) -> Parsed<$type> {
            self.array(what).map(<$type>::from_le_bytes)
        }
    )*};
}

impl<'a> Cursor<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { rest: bytes, end: bytes.len() }
    }

    /// Reads `bytes` from `at`; an `at` past the end leaves nothing to read.
    #[inline]
    pub fn starting_at(bytes: &'a [u8], at: usize) -> Self {
        Cursor { rest: bytes.get(at..).unwrap_or_default(), end: bytes.len() }
    }

    /// Reads a part of something, with positions that count from its start.
    pub fn over(bytes: &'a [u8], part: Range<usize>) -> Self {
        Cursor { end: part.end, rest: bytes.get(part).unwrap_or_default() }
    }

    #[inline]
    pub fn at(&self) -> usize {
        self.end - self.rest.len()
    }

    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[cold]
    pub fn short(&self, what: &'static str) -> Fault {
        Fault { at: self.at(), what, kind: FaultKind::Short }
    }

    #[cold]
    pub fn invalid(&self, what: &'static str, problem: &'static str) -> Fault {
        Fault { at: self.at(), what, kind: FaultKind::Invalid(problem) }
    }

    #[inline]
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Parsed<[u8; N]> {
        let Some((bytes, rest)) = self.rest.split_first_chunk::<N>() else { return Err(self.short(what)) };
        self.rest = rest;
        Ok(*bytes)
    }

    #[inline]
    pub fn take(&mut self, count: usize, what: &'static str) -> Parsed<&'a [u8]> {
        let Some((bytes, rest)) = self.rest.split_at_checked(count) else { return Err(self.short(what)) };
        self.rest = rest;
        Ok(bytes)
    }

    /// The next `count` bytes on their own, with positions that go on from here.
    pub fn part(&mut self, count: usize, what: &'static str) -> Parsed<Cursor<'a>> {
        let at = self.at();
        let rest = self.take(count, what)?;
        Ok(Cursor { rest, end: at + count })
    }

    numbers! {
        u8: u8; i8: i8; u16: u16; i16: i16; u32: u32; i32: i32; u64: u64; i64: i64; f32: f32; f64: f64;
    }

    /// A number in groups of seven bits, the lowest first.
    #[inline]
    pub fn var_u64(&mut self, what: &'static str) -> Parsed<u64> {
        match self.rest.split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(byte))
            }
            _ => self.long_var_u64(what),
        }
    }

    fn long_var_u64(&mut self, what: &'static str) -> Parsed<u64> {
        let before = *self;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8(what)?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(before.invalid(what, "a number of more than 64 bits"))
    }

    #[inline]
    pub fn var_u32(&mut self, what: &'static str) -> Parsed<u32> {
        let before = *self;
        let value = self.var_u64(what)?;
        u32::try_from(value).map_err(|_| before.invalid(what, "a number of more than 32 bits"))
    }

    /// A signed number whose lowest bit is its sign.
    pub fn var_i64(&mut self, what: &'static str) -> Parsed<i64> {
        let value = self.var_u64(what)?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    pub fn guid(&mut self, what: &'static str) -> Parsed<Guid> {
        self.array(what).map(Guid::from_bytes)
    }

    /// UTF-8 behind its length in bytes, as version 6 writes it.
    pub fn utf8(&mut self, what: &'static str) -> Parsed<Cow<'a, str>> {
        let before = *self;
        let length = self.var_u32(what)?;
        let length = usize::try_from(length).map_err(|_| before.short(what))?;
        Ok(String::from_utf8_lossy(self.take(length, what)?))
    }

    /// The bytes of UTF-16 up to a zero, which is passed over.
    pub fn utf16_bytes(&mut self, what: &'static str) -> Parsed<&'a [u8]> {
        let zero = self.rest.chunks_exact(2).position(|unit| unit == [0, 0]);
        let Some(units) = zero else {
            // What is missing stands where the bytes end, not where the text begins.
            return Err(Fault { at: self.end, what, kind: FaultKind::Short });
        };
        let bytes = self.take(units * 2, what)?;
        self.array::<2>(what)?;
        Ok(bytes)
    }

    /// UTF-16 up to a zero.
    pub fn utf16(&mut self, what: &'static str) -> Parsed<String> {
        self.utf16_bytes(what).map(utf16_text)
    }
}

/// Little endian UTF-16 as text; what is not valid becomes U+FFFD.
pub(crate) fn utf16_text(bytes: &[u8]) -> String {
    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_seven_bit_groups() {
        let mut cursor = Cursor::new(&[0x05, 0x80, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x03]);
        assert_eq!(cursor.var_u64("a"), Ok(5));
        assert_eq!(cursor.var_u64("b"), Ok(128));
        assert_eq!(cursor.var_u32("c"), Ok(u32::MAX));
        assert_eq!(cursor.var_i64("d"), Ok(-2));
        assert_eq!(cursor.var_u64("e"), Err(Fault { at: 9, what: "e", kind: FaultKind::Short }));
    }

    #[test]
    fn numbers_that_are_too_long() {
        let max = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01];
        assert_eq!(Cursor::new(&max).var_u64("x"), Ok(u64::MAX));
        assert_eq!(Cursor::new(&max).var_u32("x").unwrap_err().at, 0);
        let mut over = max;
        over[9] = 2;
        assert!(matches!(Cursor::new(&over).var_u64("x").unwrap_err().kind, FaultKind::Invalid(_)));
        assert!(matches!(Cursor::new(&[0x80; 12]).var_u64("x").unwrap_err().kind, FaultKind::Invalid(_)));
    }

    #[test]
    fn text() {
        let mut cursor = Cursor::new(b"h\0i\0\0\0\x02okx");
        assert_eq!(cursor.utf16("text").unwrap(), "hi");
        assert_eq!(cursor.utf8("text").unwrap(), "ok");
        assert_eq!(cursor.utf16("text").unwrap_err().kind, FaultKind::Short);
        assert_eq!(utf16_text(&[0, 0xD8, b'a', 0]), "\u{FFFD}a");
    }

    #[test]
    fn parts_keep_positions() {
        let mut cursor = Cursor::new(&[1, 2, 3, 4]);
        cursor.u8("first").unwrap();
        let mut part = cursor.part(2, "part").unwrap();
        assert_eq!((part.at(), part.u16("x").unwrap()), (1, 0x0302));
        assert_eq!(part.u8("y").unwrap_err().at, 3);
        assert_eq!((cursor.at(), cursor.rest()), (3, &[4][..]));
    }
}
