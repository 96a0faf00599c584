//! Bytes out, with the position for labels.

use std::io::Write;

use super::{compressed, tag};
use crate::error::Error;

/// How much is written at once.
const CHUNK: usize = 64 << 10;

/// A buffered writer that knows where it is.
pub(super) struct Sink<W: Write> {
    output: W,
    buffer: Vec<u8>,
    written: u64,
}

impl<W: Write> Sink<W> {
    pub(super) fn new(output: W) -> Sink<W> {
        Sink { output, buffer: Vec::with_capacity(CHUNK + 64), written: 0 }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<(), Error> {
        self.output.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.spill()?;
        Ok(self.output.flush()?)
    }

    pub(super) fn u8(&mut self, value: u8) -> Result<(), Error> {
        self.put(&[value])
    }

    pub(super) fn i32(&mut self, value: i32) -> Result<(), Error> {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> Result<(), Error> {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn i64(&mut self, value: i64) -> Result<(), Error> {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> Result<(), Error> {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn f32(&mut self, value: f32) -> Result<(), Error> {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn compressed(&mut self, value: i32) -> Result<(), Error> {
        let (bytes, length) = compressed::encode(value);
        self.put(&bytes[..length])
    }

    /// A count, which the format gives 31 bits.
    pub(super) fn count(&mut self, what: &'static str, count: usize) -> Result<(), Error> {
        self.i32(count_31(what, count as u64)?)
    }

    /// A string: the number of UTF-16 units, -1 for none, then each unit in one to three bytes.
    pub(super) fn string(&mut self, what: &'static str, text: Option<&str>) -> Result<(), Error> {
        let Some(text) = text else { return self.i32(-1) };
        self.count(what, text.encode_utf16().count())?;
        for unit in text.encode_utf16() {
            let [low, high] = unit.to_le_bytes();
            match unit {
                0..0x80 => self.put(&[low])?,
                0x80..0x800 => self.put(&[0xc0 | high << 2 | low >> 6, 0x80 | low & 0x3f])?,
                _ => {
                    let middle = 0x80 | (high & 0xf) << 2 | low >> 6;
                    self.put(&[0xe0 | high >> 4, middle, 0x80 | low & 0x3f])?;
                }
            }
        }
        Ok(())
    }

    /// The beginning of an object, with the description of its type.
    pub(super) fn begin(&mut self, name: &str, version: i32, min_reader: i32) -> Result<(), Error> {
        self.put(&[tag::BEGIN_OBJECT, tag::BEGIN_OBJECT, tag::NULL])?;
        self.i32(version)?;
        self.i32(min_reader)?;
        self.string("the name of a type", Some(name))?;
        self.end()
    }

    pub(super) fn end(&mut self) -> Result<(), Error> {
        self.u8(tag::END_OBJECT)
    }

    /// The position of the next byte, in the 32 bits that the format has for it.
    pub(super) fn label(&self) -> Result<u32, Error> {
        let value = self.written + self.buffer.len() as u64;
        let limit = u64::from(u32::MAX);
        u32::try_from(value).map_err(|_| Error::TooBigForGcDump { what: "the file's length", value, limit })
    }
}

/// A number in the 31 bits that the format has for it.
pub(super) fn count_31(what: &'static str, value: u64) -> Result<i32, Error> {
    i32::try_from(value).map_err(|_| Error::TooBigForGcDump { what, value, limit: super::MAX_SIZE })
}
