//! Equal strings, found by the hashes of their letters: 16 bytes for each string, whatever is in it.
//!
//! ```text
//! String:  type (8) | length (4) | letters (2 each) | 0 (2)         22 bytes and the letters, rounded up to 8
//! ```
//! The process runs on, and a collection may move strings after the graph was made. So each is read together with its type
//! and its length, and counts only if both are what the graph says. What is wrong all the same, because something moves at
//! the very moment, has a hash of its own and is equal to nothing.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use heap_graph::{HeapGraph, NodeId};

use crate::heap::memory::{Memory, read_objects, size_on_heap};

/// Where the length is, and the letters.
const LENGTH: usize = 8;
const LETTERS: usize = 12;
/// What a string takes beside its letters: header, type, length, the end.
const BESIDE: u64 = 22;
/// Bits of an object's first word that are no part of its type.
const MARKS: u64 = 7;
/// Letters of a string that are shown.
const SHOWN: usize = 200;
/// Copies that are tried for the letters.
const TRIED: usize = 8;
/// Longer strings are read in parts.
const PART: usize = 32 << 10;

/// The bytes that a string of so many letters takes.
pub(super) fn size_of(letters: u32) -> u64 {
    (BESIDE + 2 * u64::from(letters)).next_multiple_of(8)
}

/// Strings that are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Equal {
    /// All of them.
    pub(super) nodes: Vec<NodeId>,
    /// Letters of each.
    pub(super) letters: u32,
    /// The first of them.
    pub(super) text: Option<String>,
    hash: u64,
}

impl Equal {
    /// Strings that a test says are equal.
    #[cfg(test)]
    pub(super) fn specimen(nodes: Vec<NodeId>, letters: u32, text: &str) -> Equal {
        Equal { nodes, letters, text: Some(text.to_owned()), hash: 0 }
    }

    pub(super) fn copies(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// What all but one of them take.
    pub(super) fn wasted(&self) -> u64 {
        self.copies().saturating_sub(1).saturating_mul(size_of(self.letters))
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Strings on the heap, and their bytes.
    pub(super) strings: u64,
    pub(super) bytes: u64,
    /// Those that were read.
    pub(super) read: u64,
    /// Different ones among them.
    pub(super) different: u64,
    /// Strings of which there are several; the most waste first.
    pub(super) equal: Vec<Equal>,
    /// Bytes of memory that were read.
    pub(super) fetched: u64,
}

impl Found {
    pub(super) fn wasted(&self) -> u64 {
        self.equal.iter().map(Equal::wasted).fold(0, u64::saturating_add)
    }
}

/// One string that was read.
#[derive(Clone, Copy)]
struct Hashed {
    hash: u64,
    node: NodeId,
    letters: u32,
}

/// Reads strings and finds those that are equal; the text of the worst `top`.
pub(super) struct Reader<'a, M> {
    pub(super) graph: &'a HeapGraph,
    pub(super) memory: &'a mut M,
    /// The type of strings, if it is known.
    pub(super) class: Option<u64>,
    keys: RandomState,
    hashed: Vec<Hashed>,
    fetched: u64,
}

impl<'a, M: Memory> Reader<'a, M> {
    pub(super) fn new(graph: &'a HeapGraph, memory: &'a mut M, class: Option<u64>) -> Reader<'a, M> {
        Reader { graph, memory, class, keys: RandomState::new(), hashed: Vec::new(), fetched: 0 }
    }

    /// Of these strings.
    pub(super) fn find(mut self, mut strings: Vec<NodeId>, top: usize) -> Found {
        strings.sort_unstable_by_key(|node| self.graph.address(*node));
        let bytes = strings.iter().map(|node| size_on_heap(self.graph, *node)).fold(0, u64::saturating_add);
        let mut long = Vec::new();
        let (class, keys, hashed) = (self.class, &self.keys, &mut self.hashed);
        let each = |node: NodeId, string: &[u8]| {
            if let Some(letters) = check(class, string, string.len() as u64)
                && let Some(text) = string.get(LETTERS..LETTERS + letters_bytes(letters))
            {
                hashed.push(Hashed { hash: hash(keys, text), node, letters });
            }
        };
        self.fetched = read_objects(self.graph, self.memory, &strings, each, |_, node| long.push(node));
        long.into_iter().for_each(|node| self.long(node));
        let read = self.hashed.len() as u64;
        self.hashed.sort_unstable_by_key(|it| (it.hash, it.letters, it.node));
        let mut found = Found { strings: strings.len() as u64, bytes, read, ..Found::default() };
        drop(strings);
        for group in self.hashed.chunk_by(|a, b| (a.hash, a.letters) == (b.hash, b.letters)) {
            found.different += 1;
            if let [first, _, ..] = group {
                let nodes = group.iter().map(|it| it.node).collect();
                found.equal.push(Equal { nodes, letters: first.letters, text: None, hash: first.hash });
            }
        }
        found.equal.sort_by(|a, b| b.wasted().cmp(&a.wasted()).then(a.nodes[0].cmp(&b.nodes[0])));
        for equal in found.equal.iter_mut().take(top) {
            equal.text = equal.nodes.iter().take(TRIED).find_map(|node| self.text(*node, equal));
        }
        found.fetched = self.fetched;
        found
    }

    /// A string that is longer than what is read at once.
    fn long(&mut self, node: NodeId) {
        let address = self.graph.address(node).0;
        let mut head = [0; LETTERS];
        if !self.memory.read(address, &mut head) {
            return;
        }
        let Some(letters) = check(self.class, &head, size_on_heap(self.graph, node)) else { return };
        let mut hasher = self.keys.build_hasher();
        let mut left = letters_bytes(letters);
        let mut at = address + LETTERS as u64;
        let mut part = vec![0; PART];
        while left > 0 {
            part.truncate(left);
            if !self.memory.read(at, &mut part) {
                return;
            }
            hasher.write(&part);
            self.fetched += part.len() as u64;
            left -= part.len();
            at += part.len() as u64;
        }
        self.hashed.push(Hashed { hash: hasher.finish(), node, letters });
    }

    /// The first letters of a string that is still where it was.
    fn text(&mut self, node: NodeId, equal: &Equal) -> Option<String> {
        let letters = equal.letters;
        let shown = letters_bytes(letters).min(2 * SHOWN);
        let mut bytes = vec![0; LETTERS + shown];
        if !self.memory.read(self.graph.address(node).0, &mut bytes)
            || check(self.class, &bytes, size_on_heap(self.graph, node)) != Some(letters)
        {
            return None;
        }
        let text = bytes.get(LETTERS..)?;
        // Another one of the same length may lie there by now.
        if letters_bytes(letters) == shown && hash(&self.keys, text) != equal.hash {
            return None;
        }
        let units = text.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let mut text: String =
            char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        if letters_bytes(letters) > shown {
            text.push('…');
        }
        Some(text)
    }
}

/// In the same parts as a string that is read in parts.
fn hash(keys: &RandomState, letters: &[u8]) -> u64 {
    let mut hasher = keys.build_hasher();
    letters.chunks(PART).for_each(|part| hasher.write(part));
    hasher.finish()
}

/// The number of its letters, if there is a string of this size.
fn check(class: Option<u64>, head: &[u8], size: u64) -> Option<u32> {
    let found = u64::from_le_bytes(*head.first_chunk()?) & !MARKS;
    let letters = u32::from_le_bytes(*head.get(LENGTH..)?.first_chunk()?);
    let is_string = class.is_none_or(|class| class == found);
    (is_string && size_of(letters) == size).then_some(letters)
}

fn letters_bytes(letters: u32) -> usize {
    usize::try_from(letters).unwrap_or(0).saturating_mul(2)
}
