//! The memory of another process, read a little at a time.
//!
//! The process runs on while it is read and may be hostile: any read may fail, and any value may be anything.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use model::ProcessId;

use crate::error::Error;

/// What can be read at addresses: the memory of a process, or what was kept of it.
pub trait Memory {
    /// Fills the buffer from an address on; false if not all of it is there.
    fn read(&self, address: u64, into: &mut [u8]) -> bool;

    /// So many bytes.
    fn array<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes).then_some(bytes)
    }

    /// A byte.
    fn u8(&self, address: u64) -> Option<u8> {
        self.array::<1>(address).map(|[byte]| byte)
    }

    /// Two bytes.
    fn u16(&self, address: u64) -> Option<u16> {
        self.array(address).map(u16::from_le_bytes)
    }

    /// Four bytes.
    fn u32(&self, address: u64) -> Option<u32> {
        self.array(address).map(u32::from_le_bytes)
    }

    /// Eight bytes.
    fn u64(&self, address: u64) -> Option<u64> {
        self.array(address).map(u64::from_le_bytes)
    }

    /// An address that is not null.
    fn pointer(&self, address: u64) -> Option<u64> {
        self.u64(address).filter(|value| *value != 0)
    }

    /// Forgets what may be kept for the sake of speed: what is read from now on is as it is now.
    fn look_anew(&self) {}

    /// The bytes of a text that ends with so many zeroes, which are left out; none if it is longer than this.
    fn text<const END: usize>(&self, address: u64, longest: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < longest {
            // Most texts are short.
            let part = self.up_to(address.checked_add(bytes.len() as u64)?, 64);
            let from = bytes.len();
            bytes.extend_from_slice(&part);
            let units = bytes.get(from..)?.chunks_exact(END);
            if let Some(end) = units.into_iter().position(|unit| unit.iter().all(|byte| *byte == 0)) {
                bytes.truncate(from + end * END);
                return Some(bytes);
            }
            if part.len() < 64 {
                return None;
            }
        }
        None
    }

    /// At most this many bytes; fewer where the memory ends earlier.
    fn up_to(&self, address: u64, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        if self.read(address, &mut bytes) {
            return bytes;
        }
        let mut filled = 0;
        while filled < most {
            // To the end of a page at most: what lies behind may not be there.
            let Some(at) = address.checked_add(filled as u64) else { break };
            let step = usize::try_from(PAGE - at % PAGE).unwrap_or(1).min(most - filled);
            if !self.read(at, &mut bytes[filled..filled + step]) {
                break;
            }
            filled += step;
        }
        bytes.truncate(filled);
        bytes
    }
}

const PAGE: u64 = 4096;
const PAGE_BYTES: usize = 4096;
/// So many pages are kept: 16 MB.
const MOST_PAGES: usize = 4096;

/// The memory of a process.
///
/// What is asked for in one go lies close together, and a page is read almost as fast as a word: pages are kept
/// until the next [`Memory::look_anew`].
pub struct ProcessMemory {
    file: File,
    recent: RefCell<HashMap<u64, Option<Box<[u8]>>>>,
}

impl ProcessMemory {
    /// That of a process that this user may trace.
    pub fn open(pid: ProcessId) -> Result<ProcessMemory, Error> {
        let file = File::open(format!("/proc/{pid}/mem")).map_err(|source| Error::from_io(pid, source))?;
        Ok(ProcessMemory { file, recent: RefCell::default() })
    }

    fn read_now(&self, address: u64, into: &mut [u8]) -> bool {
        // Offsets of files are signed; nothing of a process lies above.
        address <= i64::MAX.cast_unsigned() && self.file.read_exact_at(into, address).is_ok()
    }
}

impl std::fmt::Debug for ProcessMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessMemory").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        let start = address - address % PAGE;
        let within = usize::try_from(address - start).unwrap_or(0);
        if within + into.len() > PAGE_BYTES || into.len() == PAGE_BYTES {
            return self.read_now(address, into);
        }
        let mut recent = self.recent.borrow_mut();
        if recent.len() >= MOST_PAGES {
            recent.clear();
        }
        let page = recent.entry(start).or_insert_with(|| {
            let mut page = vec![0; PAGE_BYTES].into_boxed_slice();
            self.read_now(start, &mut page).then_some(page)
        });
        let part = page.as_deref().and_then(|page| page.get(within..within + into.len()));
        part.map(|part| into.copy_from_slice(part)).is_some()
    }

    fn look_anew(&self) {
        self.recent.borrow_mut().clear();
    }
}

/// Memory that does not change for as long as it is there, kept page by page: metadata of modules.
#[derive(Default)]
pub(crate) struct Pages {
    pages: HashMap<u64, Option<Box<[u8]>>>,
}

impl Pages {
    /// Bytes from an address on, to the end of its page at most.
    fn page(&mut self, memory: &impl Memory, address: u64) -> Option<&[u8]> {
        let start = address - address % PAGE;
        if self.pages.len() >= MOST_PAGES && !self.pages.contains_key(&start) {
            self.pages.clear();
        }
        let page = self.pages.entry(start).or_insert_with(|| {
            let mut page = vec![0; PAGE_BYTES].into_boxed_slice();
            memory.read(start, &mut page).then_some(page)
        });
        page.as_deref()?.get(usize::try_from(address - start).ok()?..)
    }

    /// Fills the buffer from an address on.
    pub(crate) fn read(&mut self, memory: &impl Memory, address: u64, into: &mut [u8]) -> Option<()> {
        let mut filled = 0;
        while filled < into.len() {
            let part = self.page(memory, address.checked_add(filled as u64)?)?;
            let length = part.len().min(into.len() - filled);
            into[filled..filled + length].copy_from_slice(&part[..length]);
            filled += length;
        }
        Some(())
    }

    /// So many bytes.
    pub(crate) fn bytes(&mut self, memory: &impl Memory, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.read(memory, address, &mut bytes)?;
        Some(bytes)
    }

    /// A text that ends with a NUL before `limit`.
    pub(crate) fn text(&mut self, memory: &impl Memory, address: u64, limit: usize) -> Option<String> {
        let mut bytes = Vec::new();
        while bytes.len() < limit {
            let part = self.page(memory, address.checked_add(bytes.len() as u64)?)?;
            let end = part.iter().position(|byte| *byte == 0);
            bytes.extend_from_slice(&part[..end.unwrap_or(part.len())]);
            if end.is_some() {
                bytes.truncate(limit);
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        None
    }

    /// Forgets all pages.
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
    }
}

/// Some bytes at an address, and nothing elsewhere: for reading what is no process.
pub(crate) struct Bytes {
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Memory for Bytes {
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        let part = address
            .checked_sub(self.at)
            .and_then(|from| usize::try_from(from).ok())
            .and_then(|from| self.bytes.get(from..from.checked_add(into.len())?));
        part.map(|part| into.copy_from_slice(part)).is_some()
    }
}

/// Every address can be read and holds what a seed makes of it; pointers lead to more of the same.
#[cfg(test)]
pub(crate) struct Noise(pub(crate) u64);

#[cfg(test)]
impl Memory for Noise {
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        for (index, byte) in (0..).zip(into) {
            let place = address.wrapping_add(index);
            let word = ((place / 8) ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            // Many small numbers and zeroes, as real memory has.
            let word = if word.is_multiple_of(3) { word >> 56 } else { word >> 20 };
            *byte = word.to_le_bytes()[usize::try_from(place % 8).unwrap_or(0)];
        }
        true
    }
}

/// The same, but most of it is not there.
#[cfg(test)]
pub(crate) struct Patches(pub(crate) u64);

#[cfg(test)]
impl Memory for Patches {
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        let page = ((address / PAGE) ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        page >> 32 & 31 == 0 && Noise(self.0).read(address, into)
    }
}
