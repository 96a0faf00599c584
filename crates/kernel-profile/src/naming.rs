//! The end: callers put back, frames named, profiles made.

use std::collections::{BTreeMap, HashMap};

use model::{Frame, FrameKind, ProcessId};
use native_symbols::{DebugFolders, KernelNames, Named, NativeNames};
use nettrace::CodeAddress;
use perf_sampler::Timestamp;
use stacks::{Profile, ProfileThread, Sample, StackKey, ThreadSlot, Weight};
use symbols::{CodeMap, Position, SourceLookup};

use crate::intake::{Followed, Intake, KERNEL, Side, TOP_WORDS, Taken};
use crate::memory::Memory;
use crate::{Quality, WaitQuality};

/// Bytes of a method that are looked at to see how it keeps its frame.
const PROLOGUE: usize = 64;

/// What names are made of.
pub struct Names<'a> {
    /// Methods of the process, as its runtime told of them.
    pub code: &'a CodeMap,
    /// Functions of the kernel, when it shows them.
    pub kernel: Option<&'a KernelNames>,
    /// A folder with fetched debug files.
    pub debug_cache: Option<std::path::PathBuf>,
}

/// What became of one process's records.
pub struct Profiles {
    /// Time on the CPU.
    pub on_cpu: Profile,
    /// Time waiting for something.
    pub off_cpu: Profile,
    /// Time ready to run without a processor.
    pub ready: Profile,
    /// How good they are.
    pub quality: Quality,
    /// Libraries whose functions have no names, with their build ids.
    pub without_symbols: Vec<(std::path::PathBuf, Option<native_symbols::BuildId>)>,
}

impl Intake {
    /// The processes that were followed.
    pub fn processes(&self) -> impl Iterator<Item = ProcessId> + '_ {
        self.processes.keys().copied()
    }

    /// Ends with one process: names its stacks and makes its profiles. `started` is the moment that counts as zero.
    #[must_use]
    pub fn finish(
        &mut self,
        pid: ProcessId,
        names: &Names<'_>,
        started: Timestamp,
        ended: Timestamp,
    ) -> Option<Profiles> {
        let mut process = self.processes.remove(&pid)?;
        let waits = process.waiting.settle(&mut process.samples, self.only_looks);
        let looks = process.quality.waits;
        process.quality.waits = WaitQuality {
            looks: looks.looks,
            looks_too_late: looks.looks_too_late,
            looks_refused: looks.looks_refused,
            ..waits
        };
        put_callers_back(&mut process, names.code, pid);
        let folders = DebugFolders { root: process.root.clone(), cache: names.debug_cache.clone() };
        let mut namer = Namer {
            names,
            native: NativeNames::new(folders),
            source: SourceLookup::new(Some(process.root.clone())),
            process: &process,
            kinds: HashMap::new(),
        };
        if let Some(vdso) = vdso(&process, pid) {
            namer.native.learn_vdso(&vdso);
        }
        let (frames, nodes) = process.table.named(|address| namer.frame(address));
        let mut quality = process.quality;
        count(&process, &namer.kinds, &mut quality);
        let without_symbols =
            namer.native.without_symbols().map(|(path, id)| (path.to_owned(), id.cloned())).collect();
        let blank = Profile {
            title: String::new(),
            weight: Weight::Nanoseconds,
            started: None,
            duration_ns: nanos(started, ended),
            process: Some(pid.0.into()),
            frames,
            nodes,
            threads: Vec::new(),
            samples: Vec::new(),
        };
        let of = |side: Side, title: &str| {
            let mut profile = Profile { title: title.to_owned(), ..blank.clone() };
            fill(&mut profile, &process, side, started);
            profile
        };
        Some(Profiles {
            on_cpu: of(Side::OnCpu, "time on the CPU"),
            off_cpu: of(Side::OffCpu, "time waiting"),
            ready: of(Side::Ready, "time ready without a processor"),
            quality,
            without_symbols,
        })
    }
}

/// Samples of one side, by thread and time.
fn fill(profile: &mut Profile, process: &Followed, side: Side, started: Timestamp) {
    let mut slots = BTreeMap::<u32, ThreadSlot>::new();
    for taken in process.samples.iter().filter(|taken| taken.side == side) {
        let next = ThreadSlot(u32::try_from(slots.len()).unwrap_or(u32::MAX));
        let thread = *slots.entry(taken.thread).or_insert_with(|| {
            let name = process.names.get(&taken.thread).cloned();
            profile.threads.push(ProfileThread { id: taken.thread.into(), name });
            next
        });
        profile.samples.push(Sample {
            at_ns: nanos(started, taken.at),
            weight: taken.weight_ns,
            thread,
            stack: taken.walked.stack,
        });
    }
    profile.samples.sort_by_key(|sample| (sample.thread, sample.at_ns));
}

fn nanos(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_nanos()).unwrap_or(u64::MAX)
}

/// Puts the caller back that frame pointers miss in an innermost managed frame.
fn put_callers_back(process: &mut Followed, code: &CodeMap, pid: ProcessId) {
    let memory = Memory::of(pid);
    let mut prologues = HashMap::<u64, Vec<u8>>::new();
    let mut samples = std::mem::take(&mut process.samples);
    for taken in &mut samples {
        let Some(caller) = missing_caller(process, code, &memory, &mut prologues, taken) else { continue };
        if let Some(stack) = with_caller(process, taken, caller) {
            taken.walked.stack = Some(stack);
            process.quality.callers_put_back += 1;
        }
    }
    process.samples = samples;
}

fn missing_caller(
    process: &Followed,
    code: &CodeMap,
    memory: &Memory,
    prologues: &mut HashMap<u64, Vec<u8>>,
    taken: &Taken,
) -> Option<u64> {
    let top: &[u64; TOP_WORDS] = process.tops.get(taken.walked.top? as usize)?;
    let address = process.table.frames(taken.walked.stack?).nth(taken.walked.kernel_frames.into())?;
    let caller = match code.method_for(address, Position::Interrupted) {
        Some(method) => {
            let start = method.start().0;
            let inside = usize::try_from(address.0.checked_sub(start)?).ok()?;
            let length = usize::try_from(method.code_bytes()).unwrap_or(usize::MAX);
            // The beginning, and what comes next at the sampled place.
            let bytes =
                prologues.entry(start).or_insert_with(|| memory.read(start, length.clamp(PROLOGUE, 1 << 16)));
            unwinding::leaf::skipped_caller(bytes, inside, top)?
        }
        // A stub keeps nothing on the stack: its caller is at the top.
        None => *top.first()?,
    };
    let mapping = process.map.find(caller.checked_sub(1)?)?;
    mapping.executable.then_some(caller)
}

/// The same stack with one more frame below the innermost user frame, unless it is there already.
fn with_caller(process: &mut Followed, taken: &Taken, caller: u64) -> Option<StackKey> {
    let kernel = usize::from(taken.walked.kernel_frames);
    let mut frames: Vec<CodeAddress> = process.table.frames(taken.walked.stack?).collect();
    if frames.get(kernel + 1) == Some(&CodeAddress(caller)) {
        return None;
    }
    frames.insert((kernel + 1).min(frames.len()), CodeAddress(caller));
    process.table.intern(frames.into_iter())
}

/// What was found at an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Managed,
    ManagedUnnamed,
    Native,
    NativeUnnamed,
    Stub,
    Kernel,
}

struct Namer<'a> {
    names: &'a Names<'a>,
    native: NativeNames,
    source: SourceLookup,
    process: &'a Followed,
    kinds: HashMap<CodeAddress, Kind>,
}

impl Namer<'_> {
    fn frame(&mut self, address: CodeAddress) -> Frame {
        let (frame, kind) = self.find(address);
        self.kinds.insert(address, kind);
        frame
    }

    fn find(&mut self, address: CodeAddress) -> (Frame, Kind) {
        if address.0 >= KERNEL {
            let told = self.process.told.name(address.0);
            let name = told.or_else(|| self.names.kernel?.function(address.0));
            let name = name.map_or_else(|| "[kernel]".to_owned(), str::to_owned);
            return (plain(FrameKind::Kernel, name), Kind::Kernel);
        }
        // Nearly all addresses are those behind a call.
        let found = [Position::Caller, Position::Interrupted]
            .into_iter()
            .find_map(|position| Some((self.names.code.method_for(address, position)?, position)));
        if let Some((method, position)) = found {
            let frame = method.frame();
            let frame = if symbols::is_framework(&frame) {
                frame
            } else {
                self.source.frame_of(&method, address, position)
            };
            return (frame, Kind::Managed);
        }
        let Some(mapping) = self.process.map.find(address.0) else {
            return (plain(FrameKind::Native, "[unknown]".to_owned()), Kind::NativeUnnamed);
        };
        if let Some((frame, named)) = self.native.frame(address.0, mapping)
            && !self.process.is_managed(address.0)
        {
            return (frame, if named == Named::Function { Kind::Native } else { Kind::NativeUnnamed });
        }
        match &mapping.backing {
            native_symbols::Backing::File(path) => {
                let module = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let frame = Frame {
                    kind: FrameKind::Managed,
                    name: format!("{module}!?"),
                    module: Some(module),
                    file: None,
                    line: None,
                };
                (frame, Kind::ManagedUnnamed)
            }
            _ => (plain(FrameKind::Stub, "[stub]".to_owned()), Kind::Stub),
        }
    }
}

fn plain(kind: FrameKind, name: String) -> Frame {
    Frame { kind, name, module: None, file: None, line: None }
}

/// Counts frames of all samples by what is known of them.
fn count(process: &Followed, kinds: &HashMap<CodeAddress, Kind>, quality: &mut Quality) {
    let mut of_stack = HashMap::<StackKey, [u64; 5]>::new();
    for stack in process.samples.iter().filter_map(|taken| taken.walked.stack) {
        let found = of_stack.entry(stack).or_insert_with(|| {
            let mut found = [0; 5];
            for address in process.table.frames(stack) {
                let row = match kinds.get(&address) {
                    Some(Kind::Managed) => 0,
                    Some(Kind::ManagedUnnamed) => 1,
                    Some(Kind::Native) => 2,
                    Some(Kind::NativeUnnamed) => 3,
                    Some(Kind::Stub) => 4,
                    Some(Kind::Kernel) | None => continue,
                };
                found[row] += 1;
            }
            found
        });
        let [managed, unnamed, native, native_unnamed, stubs] = *found;
        quality.managed_frames += managed + unnamed;
        quality.managed_unnamed += unnamed;
        quality.native_frames += native + native_unnamed;
        quality.native_unnamed += native_unnamed;
        quality.stubs += stubs;
    }
}

/// The kernel's page of code in the process.
fn vdso(process: &Followed, pid: ProcessId) -> Option<Vec<u8>> {
    let mapping = process.map.iter().find(|mapping| mapping.backing == native_symbols::Backing::Vdso)?;
    let bytes = usize::try_from(mapping.end - mapping.start).ok().filter(|bytes| *bytes < 1 << 20)?;
    Some(Memory::of(pid).read(mapping.start, bytes))
}
