//! The memory that a core dump has, as it lay in the process.
//!
//! ```text
//! ELF head --> program heads --> LOAD: addresses and their bytes
//!                            --> NOTE: threads with their registers, files that were mapped, the command
//! ```
//! The file may be hostile: all is bounded, and what does not fit is not there.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use thiserror::Error;

const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const CORE: u16 = 4;
const X64: u16 = 62;
const NT_PRSTATUS: u32 = 1;
const NT_FILE: u32 = 0x4649_4c45;
/// Where a thread's note has its number and its registers, and which of those is the stack pointer.
const THREAD_ID: usize = 32;
const REGISTERS: usize = 112;
const REGISTER_COUNT: usize = 27;
const STACK_POINTER: usize = 19;
const PROGRAM_COUNTER: usize = 16;
/// Most parts, bytes of notes, threads and files.
const MOST_PARTS: usize = 1 << 20;
const MOST_NOTES: u64 = 256 << 20;
const MOST_THREADS: usize = 1 << 16;
const MOST_FILES: usize = 1 << 18;
/// Files of the machine that are open at the same time, to stand in for what a dump left out.
const MOST_OPEN: usize = 64;
/// `O_NONBLOCK | O_CLOEXEC`: a path out of a dump may lead to anything.
const CAREFULLY: i32 = 0o4000 | 0o2_000_000;

/// Why a file is not read as a core dump.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CoreError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no core dump.
    #[error("{path} is no core dump of Linux for 64 bits: {what}; `drdotnet dump collect` writes one")]
    NoCore {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// It is one of another processor.
    #[error("{path} is a core dump of another processor than x64, which is not understood here")]
    Architecture {
        /// Which file.
        path: PathBuf,
    },
}

/// A thread at the moment of the dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreThread {
    /// Its number.
    pub id: u32,
    /// Its registers, in the order of the kernel's `user_regs_struct`.
    pub registers: Vec<u64>,
}

impl CoreThread {
    /// Where its stack ended.
    #[must_use]
    pub fn stack_pointer(&self) -> Option<u64> {
        self.registers.get(STACK_POINTER).copied()
    }

    /// What it executed.
    #[must_use]
    pub fn program_counter(&self) -> Option<u64> {
        self.registers.get(PROGRAM_COUNTER).copied()
    }
}

/// A part of a file that was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreMapping {
    /// First address.
    pub start: u64,
    /// Behind the last one.
    pub end: u64,
    /// Where in the file it began.
    pub offset: u64,
    /// The file.
    pub path: PathBuf,
}

/// Bytes of the dump.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: u64,
    end: u64,
    at: u64,
}

/// A core dump.
#[derive(Clone, Debug)]
pub struct CoreFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: File,
    /// By address.
    parts: Vec<Part>,
    threads: Vec<CoreThread>,
    mappings: Vec<CoreMapping>,
    /// Files of this machine, by mapping.
    open: Mutex<Vec<(usize, Option<File>)>>,
}

impl CoreFile {
    /// Opens a core dump.
    pub fn open(path: &Path) -> Result<CoreFile, CoreError> {
        let io = |source| CoreError::Io { path: path.to_owned(), source };
        let none = |what| CoreError::NoCore { path: path.to_owned(), what };
        let file = open_regular(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let mut head = [0; 64];
        file.read_exact_at(&mut head, 0).map_err(|_| none("it is shorter than the head of one"))?;
        if !head.starts_with(b"\x7fELF\x02\x01") || half(&head, 16) != Some(CORE) {
            return Err(none("it does not begin as one"));
        }
        if half(&head, 18) != Some(X64) {
            return Err(CoreError::Architecture { path: path.to_owned() });
        }
        let headers = word(&head, 32).unwrap_or(0);
        let (size, mut count) = (half(&head, 54).unwrap_or(0), usize::from(half(&head, 56).unwrap_or(0)));
        // With more parts than fit, their number stands in the first section.
        if count == 0xffff {
            let mut section = [0; 64];
            let at = word(&head, 40).unwrap_or(0);
            file.read_exact_at(&mut section, at).map_err(|_| none("its list of parts is cut"))?;
            count = usize::try_from(number(&section, 44).unwrap_or(0)).unwrap_or(0);
        }
        if size != 56 || count > MOST_PARTS {
            return Err(none("its list of parts is not understood"));
        }
        let mut bytes = vec![0; 56 * count];
        file.read_exact_at(&mut bytes, headers).map_err(|_| none("its list of parts is cut"))?;
        let mut inner = Inner {
            file,
            parts: Vec::new(),
            threads: Vec::new(),
            mappings: Vec::new(),
            open: Mutex::default(),
        };
        for header in bytes.chunks_exact(56) {
            let (Some(at), Some(start), Some(bytes)) = (word(header, 8), word(header, 16), word(header, 32))
            else {
                continue;
            };
            // A dump that was cut has what it has.
            let bytes = bytes.min(length.saturating_sub(at));
            match number(header, 0) {
                Some(PT_LOAD) if bytes > 0 => {
                    let Some(end) = start.checked_add(bytes) else { continue };
                    inner.parts.push(Part { start, end, at });
                }
                Some(PT_NOTE) if bytes <= MOST_NOTES => {
                    let mut notes = vec![0; usize::try_from(bytes).unwrap_or(0)];
                    inner.file.read_exact_at(&mut notes, at).map_err(io)?;
                    inner.read_notes(&notes);
                }
                _ => {}
            }
        }
        inner.parts.sort_unstable_by_key(|part| part.start);
        inner.mappings.sort_by_key(|mapping| mapping.start);
        Ok(CoreFile(Arc::new(inner)))
    }

    /// The threads, the one that made the dump first.
    #[must_use]
    pub fn threads(&self) -> &[CoreThread] {
        &self.0.threads
    }

    /// The files that were mapped, by address.
    #[must_use]
    pub fn mappings(&self) -> &[CoreMapping] {
        &self.0.mappings
    }

    /// Where the bytes around an address end.
    #[must_use]
    pub fn end_of(&self, address: u64) -> Option<u64> {
        let behind = self.0.parts.partition_point(|part| part.start <= address);
        self.0.parts.get(behind.checked_sub(1)?).map(|part| part.end).filter(|end| address < *end)
    }

    /// Fills a buffer from an address on; false if not all of it is there. What the dump left out because it lies in a
    /// file comes from that file, if this machine has it.
    #[must_use]
    pub fn read(&self, address: u64, into: &mut [u8]) -> bool {
        let mut filled = 0;
        while filled < into.len() {
            let Some(at) = address.checked_add(filled as u64) else { return false };
            let Some(read) = into.get_mut(filled..).and_then(|rest| self.0.read_some(at, rest)) else {
                return false;
            };
            filled += read;
        }
        true
    }
}

impl Inner {
    /// Reads at least one byte.
    fn read_some(&self, address: u64, into: &mut [u8]) -> Option<usize> {
        let behind = self.parts.partition_point(|part| part.start <= address);
        let part = behind.checked_sub(1).and_then(|index| self.parts.get(index));
        if let Some(part) = part.filter(|part| address < part.end) {
            let within = address - part.start;
            let there = usize::try_from(part.end - address).unwrap_or(usize::MAX).min(into.len());
            let into = into.get_mut(..there)?;
            self.file.read_exact_at(into, part.at.checked_add(within)?).ok()?;
            return Some(there).filter(|read| *read > 0);
        }
        // Up to the next part of the dump, which knows better.
        let next = self.parts.get(behind).map_or(u64::MAX, |part| part.start);
        let there = usize::try_from(next - address).unwrap_or(usize::MAX).min(into.len());
        self.read_mapped(address, into.get_mut(..there)?)
    }

    fn read_mapped(&self, address: u64, into: &mut [u8]) -> Option<usize> {
        let behind = self.mappings.partition_point(|mapping| mapping.start <= address);
        let index = behind.checked_sub(1)?;
        let mapping = self.mappings.get(index).filter(|mapping| address < mapping.end)?;
        let there = usize::try_from(mapping.end - address).unwrap_or(usize::MAX).min(into.len());
        let into = into.get_mut(..there)?;
        let mut open = self.open.lock().ok()?;
        let place = match open.iter().position(|(known, _)| *known == index) {
            Some(place) => place,
            None => {
                if open.len() >= MOST_OPEN {
                    open.remove(0);
                }
                open.push((index, open_regular(&mapping.path).ok()));
                open.len() - 1
            }
        };
        let (_, file) = open.get(place)?;
        let at = mapping.offset.checked_add(address - mapping.start)?;
        let read = file.as_ref()?.read_at(into, at).ok()?;
        // A page has zeroes behind the end of its file.
        if read < there && address.checked_add(there as u64)? <= mapping.end && read > 0 {
            into.get_mut(read..)?.fill(0);
            return Some(there);
        }
        Some(read).filter(|read| *read > 0)
    }

    fn read_notes(&mut self, notes: &[u8]) {
        let mut rest = notes;
        while let (Some(name), Some(size), Some(kind)) = (number(rest, 0), number(rest, 4), number(rest, 8)) {
            let padded = |bytes: u32| usize::try_from(bytes).ok()?.checked_next_multiple_of(4);
            let (Some(name), Some(body)) = (padded(name), padded(size)) else { return };
            let Some(start) = name.checked_add(12) else { return };
            let Some(end) = start.checked_add(body) else { return };
            let Some(bytes) = rest.get(start..end) else { return };
            match kind {
                NT_PRSTATUS if self.threads.len() < MOST_THREADS => self.threads.extend(thread(bytes)),
                NT_FILE => self.mappings.extend(files(bytes)),
                _ => {}
            }
            rest = rest.get(end..).unwrap_or_default();
        }
    }
}

fn open_regular(path: &Path) -> io::Result<File> {
    let file = std::fs::OpenOptions::new().read(true).custom_flags(CAREFULLY).open(path)?;
    let kind = file.metadata()?.file_type();
    if !kind.is_file() || kind.is_fifo() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    Ok(file)
}

fn thread(note: &[u8]) -> Option<CoreThread> {
    let registers = (0..REGISTER_COUNT).map_while(|index| word(note, REGISTERS + 8 * index)).collect();
    Some(CoreThread { id: number(note, THREAD_ID)?, registers })
}

/// How many, the size of a page; for each from, to, and the page of the file; then the names.
fn files(note: &[u8]) -> Vec<CoreMapping> {
    let (Some(count), Some(page)) = (word(note, 0), word(note, 8)) else { return Vec::new() };
    let count = usize::try_from(count).unwrap_or(0).min(MOST_FILES);
    let names = note.get(16 + 24 * count..).unwrap_or_default();
    let names = names.split(|byte| *byte == 0);
    (0..count)
        .zip(names)
        .filter_map(|(index, name)| {
            let at = 16 + 24 * index;
            Some(CoreMapping {
                start: word(note, at)?,
                end: word(note, at + 8)?,
                offset: word(note, at + 16)?.checked_mul(page)?,
                path: PathBuf::from(String::from_utf8_lossy(name).into_owned()),
            })
        })
        .filter(|mapping| mapping.start < mapping.end)
        .collect()
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
