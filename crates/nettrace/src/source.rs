//! The input, one buffer, and the offset of what is in it.

use std::io::{self, Read};

use crate::Error;
use crate::error::is_timeout;
use crate::limits::READ_SIZE;

/// Why no more bytes will come.
#[derive(Debug)]
enum Ended {
    Properly,
    Failed(io::Error),
}

/// An input of which a part lies in memory, without gaps.
#[derive(Debug)]
pub(crate) struct Source<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The offset of `start` in the input.
    offset: u64,
    ended: Option<Ended>,
}

impl<R: Read> Source<R> {
    pub fn new(input: R) -> Self {
        Source { input, buffer: Vec::new(), start: 0, end: 0, offset: 0, ended: None }
    }

    /// The input, without what was read of it and not used.
    pub fn into_inner(self) -> R {
        self.input
    }

    /// The offset of the first byte that is not yet consumed.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Reads until `wanted` bytes are there or the input has ended, and says how many of them there are.
    ///
    /// The buffer grows with what has come, not with what was asked for.
    pub fn fill(&mut self, wanted: usize) -> Result<usize, Error> {
        while self.end - self.start < wanted && self.ended.is_none() {
            self.make_room(wanted);
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.input.read(room) {
                Ok(0) => self.ended = Some(Ended::Properly),
                // An input that claims to have read more than there was room for must not carry us along.
                Ok(count) => self.end = (self.end + count).min(self.buffer.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) if is_timeout(&source) => {
                    return Err(Error::Io { offset: self.end_offset(), source });
                }
                Err(error) => self.ended = Some(Ended::Failed(error)),
            }
        }
        Ok(wanted.min(self.end - self.start))
    }

    fn make_room(&mut self, wanted: usize) {
        if self.start > 0 && self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            let size = (self.buffer.len() * 2).max(READ_SIZE).min(wanted.max(READ_SIZE));
            self.buffer.resize(size, 0);
        }
    }

    pub fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Passes over bytes without keeping them; says how many are still to be passed over, which is none unless
    /// the input has ended.
    pub fn skip(&mut self, left: &mut u64) -> Result<(), Error> {
        while *left > 0 {
            let step = usize::try_from(*left).unwrap_or(usize::MAX).min(READ_SIZE);
            let there = self.fill(step)?;
            if there == 0 {
                return Ok(());
            }
            self.consume(there);
            *left -= there as u64;
        }
        Ok(())
    }

    /// Where the bytes in memory end.
    fn end_offset(&self) -> u64 {
        self.offset + (self.end - self.start) as u64
    }

    /// What to say when the input has ended inside `what`.
    pub fn cut_off(&mut self, what: &'static str) -> Error {
        let offset = self.end_offset();
        match self.ended.take() {
            Some(Ended::Failed(source)) => {
                self.ended = Some(Ended::Properly);
                Error::Io { offset, source }
            }
            _ => {
                self.ended = Some(Ended::Properly);
                Error::Truncated { offset, what }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_with_what_comes_not_with_what_is_promised() {
        let bytes = vec![7; READ_SIZE * 3];
        let mut source = Source::new(bytes.as_slice());
        assert_eq!(source.fill(64 << 20).unwrap(), bytes.len());
        assert!(source.buffer.len() <= READ_SIZE * 4, "{} bytes", source.buffer.len());
        let mut source = Source::new(io::repeat(1));
        for _ in 0..1000 {
            assert_eq!(source.fill(100_000).unwrap(), 100_000);
            source.consume(99_999);
        }
        assert_eq!((source.buffer.len(), source.offset()), (READ_SIZE, 99_999_000));
    }

    #[test]
    fn skipping_keeps_nothing() {
        let mut source = Source::new(io::repeat(1).take(10 << 20));
        let mut left = 8 << 20;
        source.skip(&mut left).unwrap();
        assert_eq!((left, source.offset(), source.buffer.len()), (0, 8 << 20, READ_SIZE));
        left = 5 << 20;
        source.skip(&mut left).unwrap();
        assert_eq!(left, 3 << 20);
        assert!(matches!(source.cut_off("x"), Error::Truncated { offset, what: "x" } if offset == 10 << 20));
    }
}
