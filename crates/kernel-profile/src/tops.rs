//! The top of the stack under an innermost managed frame, to find its caller when its method is known.

use std::collections::HashMap;
use std::sync::Arc;

/// So far from the top a return address is looked for.
pub(crate) const WORDS: usize = 24;
/// More different tops than this are not kept: what they would add are a few callers.
const MOST: usize = 256 << 10;

/// A word that may be a return address, and how far from the top it lies.
pub(crate) type Word = (u8, u64);

/// Tops, each kept once. Of the words only those are kept that point to code: other data differs every time and says
/// nothing.
#[derive(Default)]
pub(crate) struct Tops {
    all: Vec<Arc<[Word]>>,
    known: HashMap<Arc<[Word]>, u32>,
}

impl Tops {
    /// Keeps the top of a copied stack.
    pub(crate) fn keep(&mut self, memory: &[u8], is_code: impl Fn(u64) -> bool) -> Option<u32> {
        let mut words = Vec::new();
        for (number, bytes) in (0..).zip(memory.chunks_exact(8).take(WORDS)) {
            let word = bytes.try_into().map_or(0, u64::from_le_bytes);
            if is_code(word) {
                words.push((number, word));
            }
        }
        self.intern(words.into())
    }

    fn intern(&mut self, words: Arc<[Word]>) -> Option<u32> {
        if let Some(known) = self.known.get(&words) {
            return Some(*known);
        }
        let number = u32::try_from(self.all.len()).ok().filter(|_| self.all.len() < MOST)?;
        self.all.push(Arc::clone(&words));
        self.known.insert(words, number);
        Some(number)
    }

    /// The word so far from the top, if it points to code.
    pub(crate) fn word(&self, top: u32, distance: usize) -> Option<u64> {
        let words = self.all.get(top as usize)?;
        words.iter().find(|(number, _)| usize::from(*number) == distance).map(|(_, word)| *word)
    }

    /// Moves one to another table.
    pub(crate) fn move_to(&self, other: &mut Tops, top: u32) -> Option<u32> {
        other.intern(Arc::clone(self.all.get(top as usize)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_point_to_code_are_kept_and_each_top_once() {
        let mut tops = Tops::default();
        let memory = |data: u64| [data, 0x40_0000, data + 1, 0x40_0008].map(u64::to_le_bytes).concat();
        let is_code = |word| word & 0x40_0000 != 0;
        let first = tops.keep(&memory(7), is_code).unwrap();
        assert_eq!(tops.keep(&memory(9), is_code), Some(first));
        assert_eq!(tops.word(first, 1), Some(0x40_0000));
        assert_eq!(tops.word(first, 3), Some(0x40_0008));
        assert_eq!(tops.word(first, 0), None);
        assert_eq!(tops.word(first + 1, 1), None);
    }
}
