//! Texts that are kept once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};

use nettrace::Utf16;

/// A text in a [`TextTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TextId(u32);

/// All texts together stay below this, whatever a target sends.
const MAX_BYTES: usize = 512 << 20;

/// Texts one behind the other, each once.
#[derive(Clone)]
pub(crate) struct TextTable {
    text: String,
    /// Where each text ends.
    ends: Vec<u32>,
    /// By hash; of texts with the same hash only the first is found again, which costs a little memory.
    known: HashMap<u64, TextId>,
    hasher: RandomState,
    scratch: String,
}

impl Default for TextTable {
    fn default() -> TextTable {
        let mut table = TextTable {
            text: String::new(),
            ends: Vec::new(),
            known: HashMap::new(),
            hasher: RandomState::new(),
            scratch: String::new(),
        };
        table.append("");
        table
    }
}

impl TextTable {
    /// The empty text.
    pub(crate) const EMPTY: TextId = TextId(0);

    /// The id of a text; none if there is no room for it.
    pub(crate) fn intern(&mut self, text: Utf16<'_>) -> Option<TextId> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let units = text.bytes().as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
        scratch.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
        let id = self.intern_str(&scratch);
        self.scratch = scratch;
        id
    }

    /// The same for texts that are no UTF-16.
    pub(crate) fn intern_all<const N: usize>(&mut self, texts: [&str; N]) -> Option<[TextId; N]> {
        let mut ids = [Self::EMPTY; N];
        for (id, text) in ids.iter_mut().zip(texts) {
            *id = self.intern_str(text)?;
        }
        Some(ids)
    }

    fn intern_str(&mut self, text: &str) -> Option<TextId> {
        if text.is_empty() {
            return Some(Self::EMPTY);
        }
        let hash = self.hasher.hash_one(text);
        if let Some(known) = self.known.get(&hash).copied().filter(|known| self.get(*known) == text) {
            return Some(known);
        }
        if self.text.len() + text.len() > MAX_BYTES {
            return None;
        }
        let id = self.append(text);
        if let Entry::Vacant(free) = self.known.entry(hash) {
            free.insert(id);
        }
        Some(id)
    }

    fn append(&mut self, text: &str) -> TextId {
        self.text.push_str(text);
        // Both fit: the text is bounded.
        let id = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        TextId(id)
    }

    /// The text.
    pub(crate) fn get(&self, id: TextId) -> &str {
        let index = id.0 as usize;
        let from = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let to = self.ends.get(index).copied().unwrap_or(from);
        self.text.get(from as usize..to as usize).unwrap_or_default()
    }
}
