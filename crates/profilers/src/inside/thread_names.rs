//! Names of managed threads on runtimes that do not give them to the system (.NET Core 3.1), read from the process's memory.
//!
//! The runtime's id of a thread is the address of its native part. That has a handle of the managed `Thread` object, which
//! points back: this is how it is found, and why nothing else is taken for it. The process is not stopped; an object that the
//! collector moves meanwhile has no name this time.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use agent_host::ThreadEntry;
use model::ProcessId;

/// Bytes of a native thread in which the handle is looked for.
const NATIVE_BYTES: usize = 0x600;
/// Places in a managed thread: its name, and the address of its native part.
const NAME: u64 = 24;
const BACK: u64 = 48;
/// Where the length of a string is, and its letters.
const LENGTH: u64 = 8;
const LETTERS: u64 = 12;
/// Longest name that is shown.
const LONGEST: usize = 64;
/// Addresses below are none.
const LOWEST: u64 = 0x10000;

/// The names of those threads that have one, by their numbers in the operating system.
pub(super) fn read(pid: ProcessId, threads: impl IntoIterator<Item = ThreadEntry>) -> HashMap<u32, String> {
    let Ok(file) = File::open(format!("/proc/{pid}/mem")) else { return HashMap::new() };
    let mut memory = Memory { file, place: None };
    threads.into_iter().filter_map(|thread| Some((thread.os, memory.name(thread.id)?))).collect()
}

struct Memory {
    file: File,
    /// Where in a native thread the handle was found before.
    place: Option<usize>,
}

impl Memory {
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, address).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    fn name(&mut self, thread: u64) -> Option<String> {
        let object = self.object(thread)?;
        let text = self.word(object + NAME).filter(|text| *text >= LOWEST)?;
        let length = self.word(text + LENGTH)? & 0xffff_ffff;
        let length = usize::try_from(length).ok().filter(|length| (1..=4096).contains(length))?;
        let mut bytes = vec![0; length.min(LONGEST) * 2];
        self.file.read_exact_at(&mut bytes, text + LETTERS).ok()?;
        let letters: Vec<u16> =
            bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        let name = String::from_utf16(&letters).ok()?;
        // It may have been moved while it was read.
        (!name.contains('\0') && self.word(object + BACK) == Some(thread)).then_some(name)
    }

    /// The managed part of a thread.
    fn object(&mut self, thread: u64) -> Option<u64> {
        let mut native = [0; NATIVE_BYTES];
        self.file.read_exact_at(&mut native, thread).ok()?;
        let handles =
            || native.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes)).enumerate();
        let of = |handle: u64| {
            let is_address = |word: &u64| *word >= LOWEST && word.is_multiple_of(8) && *word >> 47 == 0;
            let object = self.word(Some(handle).filter(is_address)?).filter(is_address)?;
            (self.word(object + BACK)? == thread).then_some(object)
        };
        let known = self.place.and_then(|place| handles().nth(place)).and_then(|(_, handle)| of(handle));
        if known.is_some() {
            return known;
        }
        let (place, object) = handles().find_map(|(place, handle)| Some((place, of(handle)?)))?;
        self.place = Some(place);
        Some(object)
    }
}
