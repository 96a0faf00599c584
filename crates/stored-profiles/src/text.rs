//! Texts that are written once.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Longest text. Names come from the target, which could make them as long as it likes.
pub(crate) const LONGEST: usize = 1 << 16;

/// Numbers of texts that were written.
#[derive(Default)]
pub(crate) struct Texts<'a>(HashMap<&'a str, u64, RandomState>);

impl<'a> Texts<'a> {
    /// The number of a text that was there before; the first is 1.
    pub(crate) fn number(&mut self, text: &'a str) -> Option<u64> {
        let next = self.0.len() as u64 + 1;
        let number = *self.0.entry(text).or_insert(next);
        (number != next).then_some(number)
    }
}

/// The text, or as much of it as is kept.
pub(crate) fn shortened(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
