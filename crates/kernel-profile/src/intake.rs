//! Taking in records as they come: every stack is walked at once and kept as addresses.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use model::ProcessId;
use native_symbols::{Backing, DebugFolders, Mapping, MemoryMap};
use nettrace::CodeAddress;
use perf_sampler::{Leaving, Mapped, Record, StackView, SwitchId, Thread, Timestamp};
use stacks::{StackKey, StackTable};
use unwinding::{Modules, Reached, Registers, Snapshot, Unwinder};

use crate::Quality;

/// Words of the stack that are kept of a managed innermost frame, to find its caller later.
pub(crate) const TOP_WORDS: usize = 24;
/// Waits whose end has not come yet.
const MOST_OPEN_WAITS: usize = 1 << 20;
/// `PROT_EXEC`.
const EXECUTABLE: u32 = 4;
/// Where addresses of the kernel begin.
pub(crate) const KERNEL: u64 = 1 << 63;

/// Which time of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It ran.
    OnCpu,
    /// It waited.
    OffCpu,
    /// It could have run, but others had the processors.
    Ready,
}

/// A stack of a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walked {
    pub(crate) stack: Option<StackKey>,
    /// In [`Followed::tops`], when the innermost user frame is managed.
    pub(crate) top: Option<u32>,
    /// How many of its frames are the kernel's.
    pub(crate) kernel_frames: u16,
}

/// One sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) at: Timestamp,
    pub(crate) weight_ns: u64,
    pub(crate) thread: u32,
    pub(crate) side: Side,
    pub(crate) walked: Walked,
}

/// One process.
pub(crate) struct Followed {
    pub(crate) map: MemoryMap,
    pub(crate) root: std::path::PathBuf,
    unwinder: Unwinder,
    pub(crate) table: StackTable,
    pub(crate) tops: Vec<[u64; TOP_WORDS]>,
    pub(crate) samples: Vec<Taken>,
    pub(crate) names: BTreeMap<u32, String>,
    pub(crate) quality: Quality,
    open: HashMap<SwitchId, Walked>,
}

impl Followed {
    fn new(pid: ProcessId) -> Followed {
        let root = Path::new("/proc").join(pid.to_string()).join("root");
        let map = MemoryMap::of_process(pid).unwrap_or_default();
        let mut modules = Modules::new(DebugFolders { root: root.clone(), cache: None });
        map.iter().for_each(|mapping| modules.add(mapping));
        Followed {
            map,
            root,
            unwinder: Unwinder::new(modules),
            table: StackTable::new(),
            tops: Vec::new(),
            samples: Vec::new(),
            names: BTreeMap::new(),
            quality: Quality::default(),
            open: HashMap::new(),
        }
    }

    fn mapped(&mut self, mapped: &Mapped<'_>) {
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

    fn walk(&mut self, view: &StackView<'_>, limit: u32, frames: &mut Vec<u64>) -> Walked {
        let kernel_frames = u16::try_from(view.kernel.len()).unwrap_or(u16::MAX);
        let chain: Vec<u64> = view.user.iter().collect();
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
                    chain: &chain,
                    chain_limit: limit as usize,
                };
                let reached = self.unwinder.walk(&thread, frames);
                self.quality.stacks += 1;
                match reached {
                    Reached::Start if self.is_start(frames.last()) => self.quality.complete += 1,
                    Reached::Limit => self.quality.at_limit += 1,
                    _ => {}
                }
                if self.is_managed(registers.ip) {
                    top = u32::try_from(self.tops.len()).ok();
                    self.tops.push(words(view.memory));
                }
            }
            None => {
                frames.clear();
                frames.extend_from_slice(&chain);
            }
        }
        // A broken chain may lead anywhere, but user code has no callers in the kernel.
        if let Some(end) = frames.iter().position(|address| *address >= KERNEL) {
            frames.truncate(end);
        }
        let all: Vec<CodeAddress> =
            view.kernel.iter().chain(frames.iter().copied()).map(CodeAddress).collect();
        Walked { stack: self.table.intern(all.into_iter()), top, kernel_frames }
    }

    /// Whether the outermost frame is where threads begin: in the C library, or in the program's own start.
    fn is_start(&self, outermost: Option<&u64>) -> bool {
        let mapping = outermost.and_then(|address| self.map.find(address.saturating_sub(1)));
        match mapping.map(|mapping| &mapping.backing) {
            Some(Backing::File(path)) => {
                let name = path.file_name().unwrap_or_default().as_bytes();
                [b"libc".as_slice(), b"libpthread", b"ld-"].iter().any(|start| name.starts_with(start))
                    || !name.ends_with(b".so") && !name.ends_with(b".dll")
            }
            _ => false,
        }
    }

    /// Whether code at an address may be managed: memory without a file, or an assembly.
    pub(crate) fn is_managed(&self, address: u64) -> bool {
        match self.map.find(address).map(|mapping| &mapping.backing) {
            Some(Backing::Anonymous) => true,
            Some(Backing::File(path)) => path.extension() == Some(OsStr::new("dll")),
            _ => false,
        }
    }
}

/// Takes in records of any number of processes.
#[derive(Default)]
pub struct Intake {
    pub(crate) processes: BTreeMap<ProcessId, Followed>,
    limit: u32,
    frames: Vec<u64>,
}

impl Intake {
    /// Nothing yet. `max_frames` is where the kernel cuts a stack.
    #[must_use]
    pub fn new(max_frames: u32) -> Intake {
        Intake { processes: BTreeMap::new(), limit: max_frames, frames: Vec::new() }
    }

    /// Begins with a process that is there already.
    pub fn follow(&mut self, pid: ProcessId) {
        self.processes.entry(pid).or_insert_with(|| Followed::new(pid));
    }

    /// Takes in a record.
    pub fn take(&mut self, record: &Record<'_>) {
        let limit = self.limit;
        match record {
            Record::OnCpu(sample) => {
                let (followed, frames) = self.of(sample.thread);
                let walked = followed.walk(&sample.stack, limit, frames);
                let weight_ns = u64::try_from(sample.weight.as_nanos()).unwrap_or(u64::MAX);
                let thread = sample.thread.id.0;
                followed.samples.push(Taken {
                    at: sample.time,
                    weight_ns,
                    thread,
                    side: Side::OnCpu,
                    walked,
                });
            }
            Record::SwitchOut(out) => {
                let (followed, frames) = self.of(out.thread);
                let walked = followed.walk(&out.stack, limit, frames);
                if followed.open.len() < MOST_OPEN_WAITS {
                    followed.open.insert(out.id, walked);
                }
            }
            Record::OffCpu(wait) => {
                let (followed, _) = self.of(wait.thread);
                let walked = wait.switch.and_then(|id| followed.open.remove(&id));
                followed.quality.waits_without_stack += u64::from(walked.is_none());
                let walked = walked.unwrap_or(Walked { stack: None, top: None, kernel_frames: 0 });
                let side = if wait.leaving == Leaving::Preempted { Side::Ready } else { Side::OffCpu };
                let weight_ns = u64::try_from(wait.duration().as_nanos()).unwrap_or(u64::MAX);
                let thread = wait.thread.id.0;
                followed.samples.push(Taken { at: wait.from, weight_ns, thread, side, walked });
            }
            Record::Mapped(mapped) => self.of(mapped.thread).0.mapped(mapped),
            Record::Named { thread, name, .. } => {
                let name = String::from_utf8_lossy(name).into_owned();
                self.of(*thread).0.names.insert(thread.id.0, name);
            }
            _ => {}
        }
    }

    fn of(&mut self, thread: Thread) -> (&mut Followed, &mut Vec<u64>) {
        let followed = self.processes.entry(thread.process).or_insert_with(|| Followed::new(thread.process));
        (followed, &mut self.frames)
    }
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

/// The first words of a copied stack; zero where there are none.
fn words(memory: &[u8]) -> [u64; TOP_WORDS] {
    let mut words = [0; TOP_WORDS];
    for (word, bytes) in words.iter_mut().zip(memory.chunks_exact(8)) {
        *word = bytes.try_into().map_or(0, u64::from_le_bytes);
    }
    words
}
