//! Text in small pieces, written in large ones.

use std::io::{self, Write};

use serde_json::Value;

/// How much is gathered.
const CHUNK: usize = 128 << 10;

/// Gathers text.
pub(crate) struct Sink<'a> {
    to: &'a mut dyn Write,
    buffer: Vec<u8>,
    digits: itoa::Buffer,
}

impl<'a> Sink<'a> {
    pub fn new(to: &'a mut dyn Write) -> Sink<'a> {
        Sink { to, buffer: Vec::with_capacity(CHUNK + (CHUNK >> 2)), digits: itoa::Buffer::new() }
    }

    #[inline]
    pub fn raw(&mut self, text: &str) -> &mut Self {
        self.buffer.extend_from_slice(text.as_bytes());
        self
    }

    #[inline]
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.buffer.extend_from_slice(self.digits.format(number).as_bytes());
        self
    }

    /// Nanoseconds as microseconds.
    pub fn micros(&mut self, nanos: u64) -> &mut Self {
        self.number(nanos / 1000);
        let rest = nanos % 1000;
        self.buffer.push(b'.');
        for digit in [rest / 100, rest / 10 % 10, rest % 10] {
            self.number(digit);
        }
        self
    }

    /// Nanoseconds as seconds, to the microsecond.
    pub fn seconds(&mut self, nanos: u64) -> &mut Self {
        let micros = nanos / 1000;
        self.number(micros / 1_000_000);
        self.buffer.push(b'.');
        let mut place = 100_000;
        while place > 0 {
            self.number(micros / place % 10);
            place /= 10;
        }
        self
    }

    /// A string of JSON, in its quotes.
    pub fn string(&mut self, text: &str) -> &mut Self {
        let text = json_string(text);
        self.raw(&text)
    }

    /// A comma, unless it is the first time.
    #[inline]
    pub fn comma(&mut self, is_first: &mut bool) -> &mut Self {
        if !std::mem::take(is_first) {
            self.buffer.push(b',');
        }
        self
    }

    /// Writes what was gathered, if it is much. To be called now and then.
    #[inline]
    pub fn spill(&mut self) -> io::Result<()> {
        if self.buffer.len() < CHUNK { Ok(()) } else { self.finish() }
    }

    /// Writes what was gathered.
    pub fn finish(&mut self) -> io::Result<()> {
        self.to.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// A string of JSON, in its quotes, that does no harm on a terminal either.
pub(crate) fn json_string(text: &str) -> String {
    reports::json::harmless(Value::from(text).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_strings_are_written_as_json() {
        let mut bytes = Vec::new();
        let mut sink = Sink::new(&mut bytes);
        sink.number(42)
            .raw(" ")
            .micros(1_002_003)
            .raw(" ")
            .micros(45)
            .raw(" ")
            .seconds(61_000_450_999)
            .raw(" ")
            .string("a\"\n\u{1b}\u{202e}");
        sink.finish().unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), r#"42 1002.003 0.045 61.000450 "a\"\n\u001b\u202e""#);
    }
}
