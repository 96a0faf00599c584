//! Numbers and texts as bytes, little-endian.

use std::fmt;

/// What is wrong with received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What was to be read.
    pub problem: &'static str,
    /// Where, counted from the start of the message.
    pub offset: usize,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.problem, self.offset)
    }
}

impl std::error::Error for Damage {}

#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.raw(&[value])
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// A text with its length; what does not fit is cut off.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        let mut end = text.len().min(LONGEST_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = text.get(..end).unwrap_or_default();
        self.u16(u16::try_from(text.len()).unwrap_or(0)).raw(text.as_bytes())
    }
}

/// Longest text.
const LONGEST_TEXT: usize = 4096;

pub(crate) struct Reader<'a> {
    whole: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(whole: &'a [u8]) -> Self {
        Reader { whole, at: 0 }
    }

    pub(crate) fn damage(&self, problem: &'static str) -> Damage {
        Damage { problem, offset: self.at }
    }

    pub(crate) fn array<const N: usize>(&mut self, problem: &'static str) -> Result<[u8; N], Damage> {
        let found = self.whole.get(self.at..).and_then(|rest| rest.first_chunk());
        let found = *found.ok_or(self.damage(problem))?;
        self.at += N;
        Ok(found)
    }

    pub(crate) fn u8(&mut self, problem: &'static str) -> Result<u8, Damage> {
        self.array(problem).map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self, problem: &'static str) -> Result<u16, Damage> {
        self.array(problem).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self, problem: &'static str) -> Result<u32, Damage> {
        self.array(problem).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, problem: &'static str) -> Result<u64, Damage> {
        self.array(problem).map(u64::from_le_bytes)
    }

    pub(crate) fn flag(&mut self, problem: &'static str) -> Result<bool, Damage> {
        match self.u8(problem)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.damage(problem)),
        }
    }

    pub(crate) fn raw(&mut self, length: usize, problem: &'static str) -> Result<&'a [u8], Damage> {
        let end = self.at.checked_add(length).ok_or(self.damage(problem))?;
        let found = self.whole.get(self.at..end).ok_or(self.damage(problem))?;
        self.at = end;
        Ok(found)
    }

    pub(crate) fn text(&mut self, problem: &'static str) -> Result<String, Damage> {
        let length = usize::from(self.u16(problem)?);
        if length > LONGEST_TEXT {
            return Err(self.damage(problem));
        }
        let bytes = self.whole.get(self.at..self.at + length).ok_or(self.damage(problem))?;
        let text = std::str::from_utf8(bytes).map_err(|_| self.damage(problem))?;
        self.at += length;
        Ok(text.to_owned())
    }

    pub(crate) fn bytes(&mut self, length: usize, problem: &'static str) -> Result<&'a [u8], Damage> {
        let end = self.at.checked_add(length).ok_or(self.damage(problem))?;
        let found = self.whole.get(self.at..end).ok_or(self.damage(problem))?;
        self.at = end;
        Ok(found)
    }

    /// A count of things that are at least `size` bytes each: more than the rest can hold is damage.
    pub(crate) fn count(&mut self, size: usize, problem: &'static str) -> Result<usize, Damage> {
        let count = usize::try_from(self.u32(problem)?).unwrap_or(usize::MAX);
        let rest = self.whole.len().saturating_sub(self.at);
        if count > rest / size { Err(self.damage(problem)) } else { Ok(count) }
    }

    /// Whether something follows.
    pub(crate) fn has_more(&self) -> bool {
        self.at < self.whole.len()
    }

    /// Nothing may follow.
    pub(crate) fn end(self) -> Result<(), Damage> {
        if self.at == self.whole.len() { Ok(()) } else { Err(self.damage("bytes after the end")) }
    }
}
