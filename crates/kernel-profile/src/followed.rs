//! One process: what is mapped in it, its stacks, its samples.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use model::ProcessId;
use native_symbols::{Backing, DebugFolders, Mapping, MemoryMap};
use nettrace::CodeAddress;
use perf_sampler::{Mapped, StackView, Timestamp};
use stacks::{StackKey, StackTable};
use unwinding::{Methods, Modules, Reached, Registers, Snapshot, Unwinder};

use crate::blocked::ToldFunctions;
use crate::memory::Memory;
use crate::namer::{KERNEL, Known};
use crate::samples::{Place, Samples};
use crate::tops::Tops;
use crate::waiting::Waiting;
use crate::{Quality, Side};

/// Places where threads begin; there are two or three.
const MOST_STARTS: usize = 64;
/// Names of threads.
const MOST_THREADS: usize = 64 << 10;
/// A table of stacks is made anew only when it is larger than this.
const WORTH_SHRINKING: usize = 64 << 10;
/// `PROT_EXEC`.
const EXECUTABLE: u32 = 4;

/// Stands for the outermost frames that the kernel's limit cut off.
pub(crate) const CUT: u64 = 1;
/// Stands for outermost frames that could not be found.
pub(crate) const BROKEN: u64 = 2;

/// Room to walk stacks in.
#[derive(Default)]
pub(crate) struct Walker {
    limit: usize,
    chain: Vec<u64>,
    pub(crate) frames: Vec<u64>,
}

impl Walker {
    pub(crate) fn new(limit: u32) -> Walker {
        Walker { limit: limit as usize, ..Walker::default() }
    }
}

/// One process.
pub(crate) struct Followed {
    pub(crate) pid: ProcessId,
    pub(crate) map: MemoryMap,
    /// Its file system, held open so that its files are found when it is gone.
    root: Option<File>,
    pub(crate) unwinder: Unwinder,
    pub(crate) table: StackTable,
    pub(crate) tops: Tops,
    pub(crate) samples: Samples,
    pub(crate) threads: BTreeMap<u32, String>,
    pub(crate) quality: Quality,
    pub(crate) waiting: Waiting,
    pub(crate) told: ToldFunctions,
    /// Opened at the first look.
    pub(crate) memory: Option<Memory>,
    /// The outermost frame of complete stacks, by the one before it: frame pointers do not lead to it.
    starts: HashMap<u64, u64>,
    pub(crate) known: Option<Known>,
}

impl Followed {
    pub(crate) fn new(pid: ProcessId) -> Followed {
        let mut followed = Followed {
            pid,
            map: MemoryMap::default(),
            root: None,
            unwinder: Unwinder::new(Modules::new(DebugFolders::default())),
            table: StackTable::new(),
            tops: Tops::default(),
            samples: Samples::default(),
            threads: threads_of(pid),
            quality: Quality::default(),
            waiting: Waiting::default(),
            told: ToldFunctions::default(),
            memory: None,
            starts: HashMap::new(),
            known: None,
        };
        followed.restart();
        followed
    }

    /// It runs another program from now on.
    pub(crate) fn restart(&mut self) {
        self.root = File::open(format!("/proc/{}/root", self.pid)).ok();
        self.map = MemoryMap::of_process(self.pid).unwrap_or_default();
        let mut modules = Modules::new(DebugFolders { root: self.root(), cache: None });
        self.map.iter().for_each(|mapping| modules.add(mapping));
        self.unwinder = Unwinder::new(modules);
        let memory = Memory::of(self.pid);
        self.unwinder.methods = Methods::new(move |start, most| memory.read(start, most));
        self.starts.clear();
        self.known = None;
        self.memory = None;
    }

    /// Where its files are found.
    pub(crate) fn root(&self) -> PathBuf {
        match &self.root {
            Some(root) => format!("/proc/self/fd/{}", root.as_raw_fd()).into(),
            None => format!("/proc/{}/root", self.pid).into(),
        }
    }

    pub(crate) fn mapped(&mut self, mapped: &Mapped<'_>) {
        let mapping = Mapping {
            start: mapped.start,
            end: mapped.start.saturating_add(mapped.length),
            executable: mapped.protection & EXECUTABLE != 0,
            offset: mapped.offset,
            backing: backing(mapped.path),
        };
        if mapping.end > mapping.start {
            self.unwinder.modules.add(&mapping);
            self.map.insert(mapping);
        }
    }

    pub(crate) fn name_thread(&mut self, thread: u32, name: &[u8]) {
        if self.threads.len() < MOST_THREADS || self.threads.contains_key(&thread) {
            self.threads.insert(thread, String::from_utf8_lossy(name).into_owned());
        }
    }

    /// Walks a stack and keeps it.
    pub(crate) fn walk(&mut self, walker: &mut Walker, view: &StackView<'_>, side: Side) -> Place {
        let Walker { limit, chain, frames } = walker;
        chain.clear();
        chain.extend(view.user.iter());
        let mut cut = view.cut || chain.len() >= *limit;
        if cut {
            cut = !end_at_data(chain, &self.map);
        }
        let mut top = None;
        match view.registers {
            Some(registers) => {
                let thread = Snapshot {
                    registers: Registers {
                        instruction: registers.ip,
                        stack: registers.sp,
                        frame: registers.bp,
                    },
                    stack: view.memory,
                    chain,
                    chain_cut: cut,
                };
                let mut reached = self.unwinder.walk(&thread, frames);
                // A broken chain may lead anywhere, but user code has no callers in the kernel.
                if let Some(end) = frames.iter().position(|address| *address >= KERNEL) {
                    frames.truncate(end);
                    reached = Reached::Broken;
                }
                self.judge(reached, frames, side);
                if self.may_be_managed(registers.ip) {
                    let map = &self.map;
                    top = self.tops.keep(view.memory, |word| is_code(map, word));
                }
            }
            None => {
                frames.clear();
                frames.extend_from_slice(chain);
            }
        }
        let stack = self.keep(frames, view.kernel.iter());
        Place::new(stack, top)
    }

    /// Keeps a stack: frames in user code and in the kernel, innermost first.
    pub(crate) fn keep(
        &mut self,
        user: &[u64],
        kernel: impl DoubleEndedIterator<Item = u64>,
    ) -> Option<StackKey> {
        let mut stack = None;
        for address in user.iter().copied().rev().chain(kernel.rev()) {
            let Some(next) = self.table.child(stack, CodeAddress(address)) else { break };
            stack = Some(next);
        }
        stack
    }

    /// Whether a stack reaches the place where threads begin.
    pub(crate) fn is_complete(&self, stack: StackKey) -> bool {
        self.table.frames(stack).last().is_some_and(|outermost| outermost.0 != CUT && outermost.0 != BROKEN)
    }

    /// Whether a stack is complete; if not, a mark takes the place of what is missing.
    pub(crate) fn judge(&mut self, reached: Reached, frames: &mut Vec<u64>, side: Side) {
        let complete = match reached {
            Reached::Start => {
                if let [.., before, start] = frames.as_slice()
                    && self.starts.len() < MOST_STARTS
                {
                    self.starts.insert(*before, *start);
                }
                true
            }
            Reached::Limit => false,
            Reached::EndOfChain | Reached::EndOfCopy | Reached::Broken => {
                let last = frames.last().copied().unwrap_or(0);
                let start = self.starts.get(&last).copied();
                frames.extend(start);
                start.is_some() || reached == Reached::EndOfChain && self.is_in_libc(last)
            }
        };
        let at_limit = reached == Reached::Limit;
        if !complete {
            frames.push(if at_limit { CUT } else { BROKEN });
        }
        self.quality.walked(side, complete, at_limit);
    }

    /// Threads begin in the C library.
    fn is_in_libc(&self, address: u64) -> bool {
        let mapping = self.map.find(address.saturating_sub(1));
        match mapping.map(|mapping| &mapping.backing) {
            Some(Backing::File(path)) => {
                let name = path.file_name().unwrap_or_default().as_bytes();
                [b"libc.".as_slice(), b"libc-", b"libpthread", b"ld-"]
                    .iter()
                    .any(|start| name.starts_with(start))
            }
            _ => false,
        }
    }

    /// Whether code at an address may be managed: it has no tables to unwind it by.
    pub(crate) fn may_be_managed(&self, address: u64) -> bool {
        !self.unwinder.modules.covers(address)
            && self.map.find(address).is_none_or(|mapping| mapping.backing != Backing::Vdso)
    }

    /// Drops what had ended by then, and the stacks that nothing has any more.
    pub(crate) fn forget_before(&mut self, at: Timestamp) {
        self.samples.forget_before(at);
        if self.table.len() < WORTH_SHRINKING {
            return;
        }
        let (old, old_tops) = (std::mem::take(&mut self.table), std::mem::take(&mut self.tops));
        let mut frames = Vec::new();
        let mut renumber = |place: Place| {
            place.renumbered(
                |stack| {
                    frames.clear();
                    frames.extend(old.frames(stack));
                    self.table.intern(frames.drain(..))
                },
                |top| old_tops.move_to(&mut self.tops, top),
            )
        };
        self.samples.iter_mut().for_each(|taken| taken.place = renumber(taken.place));
        self.waiting.places().for_each(|place| *place = renumber(*place));
    }
}

/// Whether an address lies in memory that can run.
pub(crate) fn is_code(map: &MemoryMap, address: u64) -> bool {
    address.checked_sub(1).and_then(|before| map.find(before)).is_some_and(|mapping| mapping.executable)
}

/// Ends a chain of the kernel's where it leaves code, and tells whether it did. Code without frame pointers uses their
/// register for anything, and the kernel follows it anywhere: a list that leads back to itself fills a chain to its limit.
fn end_at_data(chain: &mut Vec<u64>, map: &MemoryMap) -> bool {
    let end = chain.iter().position(|address| !is_code(map, *address));
    chain.truncate(end.unwrap_or(chain.len()));
    end.is_some()
}

/// Threads that are there, with their names.
fn threads_of(pid: ProcessId) -> BTreeMap<u32, String> {
    let tasks = Path::new("/proc").join(pid.to_string()).join("task");
    let entries = std::fs::read_dir(tasks).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let name = std::fs::read(entry.path().join("comm")).ok()?;
            Some((id, String::from_utf8_lossy(name.trim_ascii_end()).into_owned()))
        })
        .take(MOST_THREADS)
        .collect()
}

fn backing(path: &[u8]) -> Backing {
    match path {
        b"" | b"//anon" => Backing::Anonymous,
        b"[vdso]" => Backing::Vdso,
        _ if path.starts_with(b"[") => Backing::Special(String::from_utf8_lossy(path).into_owned()),
        _ if path.starts_with(b"/memfd:") => Backing::Anonymous,
        _ => Backing::File(Path::new(OsStr::from_bytes(path)).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_that_leads_into_data_ends_there_and_recursion_goes_on() {
        let mut map = MemoryMap::default();
        let backing = Backing::Anonymous;
        map.insert(Mapping { start: 0x1000, end: 0x3000, executable: true, offset: 0, backing });
        let mut into_a_list = vec![0x1010, 0x2020, 0x9000, 0x9000, 0x9000];
        assert!(end_at_data(&mut into_a_list, &map));
        assert_eq!(into_a_list, [0x1010, 0x2020]);
        let mut recursion = vec![0x1010, 0x2020, 0x2020, 0x2020];
        assert!(!end_at_data(&mut recursion, &map));
        assert_eq!(recursion.len(), 4);
    }
}
