//! A thread that waits, read from outside: nothing stops, and the thread does not notice.
//!
//! The kernel shows where a blocked thread entered it (`/proc/PID/task/TID/syscall`: stack pointer and instruction), and
//! its stack can be read like any memory. What was read counts only if the thread did not run in between.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use perf_sampler::{Thread, Timestamp};

use crate::memory::Memory;
use crate::namer::KERNEL;

/// First part of a stack that is read; nearly all waits of .NET programs fit.
const FIRST_BYTES: usize = 16 << 10;
/// The most that is read of one stack.
pub(crate) const MOST_BYTES: usize = 256 << 10;
/// More functions of the kernel than any machine waits in.
const MOST_FUNCTIONS: usize = 1 << 14;
/// More frames of the kernel than it ever tells.
const MOST_KERNEL_FRAMES: usize = 128;
/// Below this, addresses of the upper half are none that the processor can have: they stand for names.
const FIRST_REAL: u64 = 0xffff_8000_0000_0000;

/// What came of a look at a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// It waits, and this was its stack.
    Seen,
    /// It runs, or could run.
    Runnable,
    /// It ran meanwhile, or has ended.
    Moved,
    /// This user may not look into the process.
    Refused,
}

/// Where a thread entered the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) stack: u64,
    pub(crate) instruction: u64,
}

/// A thread that was waiting when the look began.
pub(crate) struct Look {
    file: File,
    said: Vec<u8>,
    slices: Option<u64>,
    began: Timestamp,
    thread: Thread,
    pub(crate) entry: Entry,
}

impl Look {
    pub(crate) fn begin(thread: Thread) -> Result<Look, Looked> {
        let began = Timestamp::now();
        let file = File::open(path(thread, "syscall")).map_err(|error| refused(&error))?;
        let said = text(&file).map_err(|error| refused(&error))?;
        if said.starts_with(b"running") {
            return Err(Looked::Runnable);
        }
        let entry = entry(&said).ok_or(Looked::Moved)?;
        Ok(Look { file, said, slices: slices(thread), began, thread, entry })
    }

    /// The stack from its top on. `bytes` is how much of it is known already.
    pub(crate) fn memory(&self, memory: &Memory, bytes: usize) -> Vec<u8> {
        let wanted = if bytes == 0 { FIRST_BYTES } else { bytes.saturating_mul(4).min(MOST_BYTES) };
        memory.read(self.entry.stack, wanted)
    }

    /// Functions of the kernel it waits in, innermost first: all where root asks, else the innermost.
    pub(crate) fn kernel(&self) -> Vec<String> {
        if let Ok(stack) = std::fs::read_to_string(path(self.thread, "stack")) {
            return functions(&stack);
        }
        let place = std::fs::read_to_string(path(self.thread, "wchan")).unwrap_or_default();
        if place.is_empty() || place == "0" { Vec::new() } else { vec![place] }
    }

    /// The time of the look, if the thread has not moved in it.
    pub(crate) fn end(&self) -> Option<(Timestamp, Timestamp)> {
        let same = text(&self.file).is_ok_and(|said| said == self.said) && slices(self.thread) == self.slices;
        same.then(|| (self.began, Timestamp::now()))
    }
}

fn path(thread: Thread, file: &str) -> String {
    format!("/proc/{}/task/{}/{file}", thread.process, thread.id)
}

fn text(file: &File) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; 512];
    let length = file.read_at(&mut bytes, 0)?;
    bytes.truncate(length);
    Ok(bytes)
}

fn refused(error: &std::io::Error) -> Looked {
    if error.kind() == std::io::ErrorKind::PermissionDenied { Looked::Refused } else { Looked::Moved }
}

/// `number args... sp pc`, or `-1 sp pc` outside a system call, or `running`.
fn entry(said: &[u8]) -> Option<Entry> {
    let mut words = std::str::from_utf8(said).ok()?.split_ascii_whitespace().rev();
    let mut address = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (instruction, stack) = (address()?, address()?);
    (instruction != 0 && stack != 0).then_some(Entry { stack, instruction })
}

/// How often the thread was given a processor.
fn slices(thread: Thread) -> Option<u64> {
    let text = std::fs::read_to_string(path(thread, "schedstat")).ok()?;
    text.split_ascii_whitespace().nth(2)?.parse().ok()
}

/// Lines like `[<0>] futex_wait_queue+0x60/0x90`.
fn functions(stack: &str) -> Vec<String> {
    stack
        .lines()
        .take(MOST_KERNEL_FRAMES)
        .filter_map(|line| line.split_once("] "))
        .map(|(_, place)| place.split_once('+').map_or(place, |(name, _)| name).to_owned())
        .collect()
}

/// Functions of the kernel that were told by name: each gets an address that none has.
#[derive(Default)]
pub(crate) struct ToldFunctions {
    numbers: HashMap<String, u64>,
    names: Vec<String>,
}

impl ToldFunctions {
    /// The address that stands for a function. `None` when there are too many.
    pub(crate) fn address(&mut self, function: String) -> Option<u64> {
        let next = u64::try_from(self.names.len()).ok()?;
        if let Some(number) = self.numbers.get(&function) {
            return Some(KERNEL | number);
        }
        if self.names.len() >= MOST_FUNCTIONS {
            return None;
        }
        self.names.push(function.clone());
        self.numbers.insert(function, next);
        Some(KERNEL | next)
    }

    /// The function that an address stands for.
    pub(crate) fn name(&self, address: u64) -> Option<&str> {
        let number = address.checked_sub(KERNEL).filter(|_| address < FIRST_REAL)?;
        self.names.get(usize::try_from(number).ok()?).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_on_a_blocked_thread() {
        let blocked = b"202 0x7f01 0x189 0x0 0x0 0x0 0xffffffff 0x7f0102030400 0x7f1b97a91503\n";
        let found = entry(blocked).unwrap();
        assert_eq!(found, Entry { stack: 0x7f01_0203_0400, instruction: 0x7f1b_97a9_1503 });
        assert_eq!(entry(b"-1 0x7ffd10 0x401000\n").unwrap().instruction, 0x40_1000);
        for none in [&b"running\n"[..], b"", b"0\n", b"-1 0x0 0x0\n", b"\xff\xfe 0x1 0x", b"7"] {
            assert_eq!(entry(none), None);
        }
        let stack = "[<0>] hrtimer_nanosleep+0x74/0xf0\n[<0>] do_syscall_64+0x71/0x280\nnonsense\n";
        assert_eq!(functions(stack), ["hrtimer_nanosleep", "do_syscall_64"]);
    }

    #[test]
    fn told_functions_keep_their_address() {
        let mut told = ToldFunctions::default();
        let first = told.address("futex_wait".to_owned()).unwrap();
        let second = told.address("ep_poll".to_owned()).unwrap();
        assert_eq!(told.address("futex_wait".to_owned()), Some(first));
        assert_eq!((told.name(first), told.name(second)), (Some("futex_wait"), Some("ep_poll")));
        assert_eq!(told.name(0xffff_ffff_8100_0000), None);
        assert_eq!(told.name(0x1000), None);
    }
}
