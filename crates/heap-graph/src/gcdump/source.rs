//! Bytes in, with the position for every complaint.

use std::io::{self, Read};

use crate::error::Error;

/// The most characters a string may have: a log of a long collection stays far below.
pub(super) const MAX_STRING: i32 = 64 << 20;
/// How much is read ahead, and how much memory a length may ask for before the bytes are there.
const CHUNK: usize = 64 << 10;

/// A reader that knows where it is.
pub(super) struct Source<R> {
    input: R,
    buffer: Vec<u8>,
    next: usize,
    /// The position of the buffer's end in the file.
    end: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R) -> Source<R> {
        Source { input, buffer: Vec::new(), next: 0, end: 0 }
    }

    /// The position of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.end - (self.buffer.len() - self.next) as u64
    }

    /// Makes `count` bytes, no more than a few, ready in the buffer.
    fn need(&mut self, count: usize, field: &'static str) -> Result<(), Error> {
        while self.buffer.len() - self.next < count {
            self.buffer.drain(..self.next);
            self.next = 0;
            let kept = self.buffer.len();
            self.buffer.resize(CHUNK, 0);
            let read = loop {
                match self.input.read(&mut self.buffer[kept..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => break other,
                }
            };
            self.buffer.truncate(kept + *read.as_ref().unwrap_or(&0));
            let read = read?;
            self.end += read as u64;
            if read == 0 {
                return Err(Error::Truncated { offset: self.end, field });
            }
        }
        Ok(())
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Error> {
        self.need(N, field)?;
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.buffer[self.next..self.next + N]);
        self.next += N;
        Ok(bytes)
    }

    pub(super) fn u8(&mut self, field: &'static str) -> Result<u8, Error> {
        Ok(self.array::<1>(field)?[0])
    }

    /// The next byte, left where it is.
    pub(super) fn peek(&mut self, field: &'static str) -> Result<u8, Error> {
        self.need(1, field)?;
        Ok(self.buffer[self.next])
    }

    pub(super) fn i32(&mut self, field: &'static str) -> Result<i32, Error> {
        self.array(field).map(i32::from_le_bytes)
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, Error> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(super) fn i64(&mut self, field: &'static str) -> Result<i64, Error> {
        self.array(field).map(i64::from_le_bytes)
    }

    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, Error> {
        self.array(field).map(u64::from_le_bytes)
    }

    pub(super) fn f32(&mut self, field: &'static str) -> Result<f32, Error> {
        self.array(field).map(f32::from_le_bytes)
    }

    /// A number of things to come.
    pub(super) fn count(&mut self, field: &'static str) -> Result<usize, Error> {
        let offset = self.offset();
        let value = self.i32(field)?;
        usize::try_from(value).map_err(|_| Error::BadField {
            offset,
            field,
            value: value.into(),
            expected: "a count of at least 0",
        })
    }

    /// A string: the number of UTF-16 units, -1 for none, then each unit in one to three bytes.
    pub(super) fn string(&mut self, field: &'static str) -> Result<Option<String>, Error> {
        let offset = self.offset();
        let units = self.i32(field)?;
        if !(-1..=MAX_STRING).contains(&units) {
            let expected = "a length from -1 to 67108864 characters";
            return Err(Error::BadField { offset, field, value: units.into(), expected });
        }
        let Ok(count) = usize::try_from(units) else { return Ok(None) };
        let mut text = Vec::with_capacity(count.min(CHUNK));
        for _ in 0..count {
            let first = u16::from(self.u8(field)?);
            text.push(if first < 0x80 {
                first
            } else if first < 0xe0 {
                (first & 0x1f) << 6 | self.continuation(field)?
            } else {
                let second = self.continuation(field)?;
                (first & 0xf) << 12 | second << 6 | self.continuation(field)?
            });
        }
        Ok(Some(String::from_utf16_lossy(&text)))
    }

    fn continuation(&mut self, field: &'static str) -> Result<u16, Error> {
        Ok(u16::from(self.u8(field)? & 0x3f))
    }

    /// So many bytes, in memory; no more is taken for them than has been read.
    pub(super) fn bytes(&mut self, count: usize, field: &'static str) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            self.need(1, field)?;
            let take = (self.buffer.len() - self.next).min(count - bytes.len());
            bytes.extend_from_slice(&self.buffer[self.next..self.next + take]);
            self.next += take;
        }
        Ok(bytes)
    }

    /// Passes over so many bytes.
    pub(super) fn skip(&mut self, count: usize, field: &'static str) -> Result<(), Error> {
        let mut left = count;
        while left > 0 {
            self.need(1, field)?;
            let take = (self.buffer.len() - self.next).min(left);
            self.next += take;
            left -= take;
        }
        Ok(())
    }
}
