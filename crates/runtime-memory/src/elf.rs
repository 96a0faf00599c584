//! Exported symbols of a library as it lies in memory: its file may be gone, or another one by now.

use crate::memory::Memory;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
/// A flag of a part.
const WRITABLE: u32 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
/// Bytes of a symbol.
const SYMBOL: u64 = 24;
/// Most program headers, dynamic entries and symbols in one chain that are looked at.
const MOST_HEADERS: u16 = 256;
const MOST_ENTRIES: u64 = 1024;
const MOST_SYMBOLS: u32 = 100_000;
/// A relocation that adds the address of the library; bytes of one, and most of them.
const RELATIVE: u64 = 8;
const RELOCATION: usize = 24;
const MOST_RELOCATIONS: u64 = 1 << 20;

/// A library, or a program, as it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// What is added to the addresses it is linked for.
    bias: u64,
    symbols: u64,
    strings: u64,
    hashes: u64,
    /// The processor it is for.
    pub(crate) machine: u16,
    /// Parts that are loaded to be written to: from, to.
    writable: Vec<(u64, u64)>,
    /// What the loader has to add its address to: where the list is, and its bytes.
    relocations: (u64, u64),
}

impl Loaded {
    /// The ELF file whose first byte lies at an address.
    pub fn at(memory: &impl Memory, base: u64) -> Option<Loaded> {
        let head: [u8; 64] = memory.array(base)?;
        // 64 bits, the lower byte first.
        if !head.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let headers = base.checked_add(u64::from_le_bytes(head[32..40].try_into().ok()?))?;
        let (size, count) = (u64::from(half(54)), half(56).min(MOST_HEADERS));
        let (mut bias, mut dynamic, mut linked) = (None, None, Vec::new());
        for index in 0..u64::from(count) {
            let header = headers.checked_add(index.checked_mul(size)?)?;
            let (offset, address) =
                (memory.u64(header.checked_add(8)?)?, memory.u64(header.checked_add(16)?)?);
            match memory.u32(header)? {
                PT_LOAD => {
                    if offset == 0 {
                        bias = Some(base.wrapping_sub(address));
                    }
                    if memory.u32(header.checked_add(4)?)? & WRITABLE != 0 {
                        linked.push((address, memory.u64(header.checked_add(40)?)?));
                    }
                }
                PT_DYNAMIC => dynamic = Some(address),
                _ => {}
            }
        }
        let bias = bias?;
        let writable = linked.into_iter().filter_map(|(address, bytes)| {
            let from = address.wrapping_add(bias);
            Some((from, from.checked_add(bytes)?))
        });
        let writable = writable.collect();
        let mut found = Loaded {
            bias,
            symbols: 0,
            strings: 0,
            hashes: 0,
            machine: half(18),
            writable,
            relocations: (0, 0),
        };
        found.read_dynamic(memory, dynamic?.wrapping_add(bias))?;
        (found.symbols != 0 && found.strings != 0 && found.hashes != 0).then_some(found)
    }

    fn read_dynamic(&mut self, memory: &impl Memory, dynamic: u64) -> Option<()> {
        for index in 0..MOST_ENTRIES {
            let entry = dynamic.checked_add(16 * index)?;
            let number = memory.u64(entry.checked_add(8)?)?;
            // Some loaders put the loaded addresses in, others leave the linked ones.
            let value = if number < self.bias { number.wrapping_add(self.bias) } else { number };
            match memory.u64(entry)? {
                0 => return Some(()),
                DT_STRTAB => self.strings = value,
                DT_SYMTAB => self.symbols = value,
                DT_GNU_HASH => self.hashes = value,
                DT_RELA => self.relocations.0 = value,
                DT_RELASZ => self.relocations.1 = number,
                _ => {}
            }
        }
        None
    }

    /// Parts that are loaded to be written to, with those that are zero in the file: from, to.
    #[must_use]
    pub fn writable(&self) -> &[(u64, u64)] {
        &self.writable
    }

    /// Pointers that the loader wrote, by their place: a dump may have left them out, and the file has others.
    #[must_use]
    pub fn relocated(&self, memory: &impl Memory) -> Vec<(u64, u64)> {
        let (at, bytes) = self.relocations;
        let most = MOST_RELOCATIONS * RELOCATION as u64;
        let bytes = memory.up_to(at, usize::try_from(bytes.min(most)).unwrap_or(0));
        let mut found = Vec::new();
        for entry in bytes.as_chunks::<RELOCATION>().0 {
            let (words, _) = entry.as_chunks::<8>();
            let &[place, kind, value] = words else { break };
            if u64::from_le_bytes(kind) == RELATIVE {
                let to = |word: [u8; 8]| u64::from_le_bytes(word).wrapping_add(self.bias);
                found.push((to(place), to(value)));
            }
        }
        found.sort_unstable();
        found
    }

    /// The address of an exported symbol.
    pub fn symbol(&self, memory: &impl Memory, name: &str) -> Option<u64> {
        let hash = gnu_hash(name);
        let number = |index: u64| memory.u32(self.hashes.checked_add(4 * index)?);
        let (buckets, first, filter) = (number(0)?, number(1)?, u64::from(number(2)?));
        let first_bucket = 4 + 2 * filter;
        let mut index = number(first_bucket + u64::from(hash.checked_rem(buckets)?))?;
        let chains = first_bucket + u64::from(buckets);
        for _ in 0..MOST_SYMBOLS {
            let chained = number(chains + u64::from(index.checked_sub(first)?))?;
            if chained | 1 == hash | 1
                && let Some(address) = self.if_named(memory, index, name)
            {
                return Some(address);
            }
            if chained & 1 == 1 {
                return None;
            }
            index = index.checked_add(1)?;
        }
        None
    }

    fn if_named(&self, memory: &impl Memory, index: u32, name: &str) -> Option<u64> {
        let symbol = self.symbols.checked_add(u64::from(index) * SYMBOL)?;
        let text = self.strings.checked_add(memory.u32(symbol)?.into())?;
        let mut bytes = vec![0; name.len() + 1];
        let is_same = memory.read(text, &mut bytes) && bytes.strip_suffix(&[0]) == Some(name.as_bytes());
        is_same.then(|| memory.u64(symbol.checked_add(8)?).map(|address| address.wrapping_add(self.bias)))?
    }
}

fn gnu_hash(name: &str) -> u32 {
    name.bytes().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Bytes, Noise};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_do_harm(mut bytes in proptest::collection::vec(any::<u8>(), 64..2048), seed in any::<u64>()) {
            bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
            let memory = Bytes { at: 0x1000, bytes };
            let _ = Loaded::at(&memory, 0x1000);
            let loaded = Loaded { bias: seed, symbols: seed, strings: 3, hashes: seed >> 3, machine: 62, writable: Vec::new(), relocations: (seed, seed >> 8) };
            let _ = loaded.relocated(&memory);
            let _ = loaded.symbol(&memory, "g_dacTable");
            let _ = loaded.symbol(&Noise(seed), "g_dacTable");
        }
    }
}
