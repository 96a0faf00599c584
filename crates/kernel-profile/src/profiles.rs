//! From samples of addresses to profiles of names.

use std::collections::{BTreeMap, HashMap};

use model::ProcessId;
use native_symbols::KernelNames;
use nettrace::CodeAddress;
use perf_sampler::Timestamp;
use stacks::{Profile, ProfileThread, Sample, StackKey, StackTable, ThreadSlot, Weight};
use symbols::{CodeMap, Position};
use unwinding::IF_REPLACED;

use crate::callers::Callers;
use crate::followed::Followed;
use crate::namer::{FrameNumber, KERNEL, Kind, Known, Namer};
use crate::samples::{Place, Taken};
use crate::{Intake, Quality, Side};

/// What names are made of.
pub struct Names<'a> {
    /// Methods of the process, as its runtime told of them, settled. Its times are those of the sampler's clock, which is
    /// the runtime's: `learn_at` is given the ticks of an event.
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
        let mut samples: Vec<Taken> = process.samples.iter().copied().collect();
        process.settle(&mut samples, self.chances);
        Some(profiles(&mut process, names, &samples, started, ended))
    }

    /// What one process did between two moments, without an end: for a view that is drawn again and again. A wait counts
    /// with the part of it that lies between them, also one that goes on. The quality is that of all samples so far, but
    /// for names, which are counted between the two moments.
    #[must_use]
    pub fn snapshot(
        &mut self,
        pid: ProcessId,
        names: &Names<'_>,
        since: Timestamp,
        until: Timestamp,
    ) -> Option<Profiles> {
        let process = self.processes.get_mut(&pid)?;
        let over = process.samples.iter().copied();
        let open = process.waiting.at(until);
        let mut samples: Vec<Taken> =
            over.chain(open).filter_map(|taken| taken.within(since, until)).collect();
        process.settle(&mut samples, self.chances);
        Some(profiles(process, names, &samples, since, until))
    }
}

fn profiles(
    process: &mut Followed,
    names: &Names<'_>,
    samples: &[Taken],
    started: Timestamp,
    ended: Timestamp,
) -> Profiles {
    let mut known = process.known.take().unwrap_or_else(|| Known::new(process, names));
    let mut quality = process.quality;
    let mut building = Building::new(process, Namer::new(names, process, &mut known), started);
    samples.iter().for_each(|taken| building.add(taken, &mut quality));
    let span = nanos(started, ended);
    let [on_cpu, off_cpu, ready] = building.into_profiles(span);
    let without_symbols =
        known.native.without_symbols().map(|(path, id)| (path.to_owned(), id.cloned())).collect();
    process.known = Some(known);
    Profiles { on_cpu, off_cpu, ready, quality, without_symbols }
}

/// A named stack, and what its frames are.
#[derive(Clone, Copy)]
struct Stack {
    key: Option<StackKey>,
    put_back: bool,
    counts: Counts,
}

/// Frames of a stack by what is known of them.
#[derive(Clone, Copy, Default)]
struct Counts {
    managed: u64,
    managed_unnamed: u64,
    native: u64,
    native_unnamed: u64,
    stubs: u64,
    /// Of the innermost managed frame.
    innermost_unnamed: Option<bool>,
}

/// The samples of one side.
#[derive(Default)]
struct One {
    slots: BTreeMap<u32, ThreadSlot>,
    threads: Vec<ProfileThread>,
    samples: Vec<Sample>,
}

struct Building<'a> {
    process: &'a Followed,
    namer: Namer<'a>,
    callers: Callers,
    started: Timestamp,
    /// One for all sides, so that what a thread did and what it waited for can be laid over each other.
    table: StackTable,
    stacks: HashMap<Place, Stack>,
    sides: [One; 3],
    addresses: Vec<u64>,
    frames: Vec<FrameNumber>,
}

impl<'a> Building<'a> {
    fn new(process: &'a Followed, namer: Namer<'a>, started: Timestamp) -> Building<'a> {
        let sides = [One::default(), One::default(), One::default()];
        Building {
            process,
            namer,
            callers: Callers::default(),
            started,
            table: StackTable::new(),
            stacks: HashMap::new(),
            sides,
            addresses: Vec::new(),
            frames: Vec::new(),
        }
    }

    fn add(&mut self, taken: &Taken, quality: &mut Quality) {
        let side = match taken.side {
            Side::OnCpu => 0,
            Side::OffCpu => 1,
            Side::Ready => 2,
        };
        let stack = match self.stacks.get(&taken.place) {
            Some(stack) => *stack,
            None => self.name(taken),
        };
        quality.callers_put_back += u64::from(stack.put_back);
        stack.counts.add_to(quality);
        let one = &mut self.sides[side];
        let next = ThreadSlot(u32::try_from(one.threads.len()).unwrap_or(u32::MAX));
        let thread = *one.slots.entry(taken.thread).or_insert_with(|| {
            let name = self.process.threads.get(&taken.thread).cloned();
            one.threads.push(ProfileThread { id: taken.thread.into(), name });
            next
        });
        let at_ns = nanos(self.started, taken.at);
        one.samples.push(Sample { at_ns, weight: taken.weight_ns, thread, stack: stack.key });
    }

    /// Names a stack. If it has the same names at every moment, that is not done again.
    fn name(&mut self, taken: &Taken) -> Stack {
        let Some(stack) = taken.place.stack() else {
            return Stack { key: None, put_back: false, counts: Counts::default() };
        };
        self.addresses.clear();
        self.addresses.extend(self.process.table.frames(stack).map(|address| address.0));
        let kernel = self.addresses.iter().take_while(|address| **address >= KERNEL).count();
        let put_back = self.put_caller_back(taken, kernel);
        let mut always = true;
        let mut counts = Counts::default();
        self.frames.clear();
        let mut before = None;
        let mut replaced = false;
        for (number, mut address) in self.addresses.iter().copied().enumerate() {
            if (IF_REPLACED..KERNEL).contains(&address) {
                address &= !IF_REPLACED;
                if !std::mem::take(&mut replaced)
                    || self.namer.method_at(address, Position::Caller, taken.at.0).is_none()
                {
                    continue;
                }
            }
            // The innermost frame, and the innermost user frame, which the kernel interrupted or was called by.
            let interrupted = number == 0 || number == kernel;
            replaced = before.is_some_and(|callee| self.namer.replaced(callee, address, taken.at.0));
            if replaced {
                continue;
            }
            before = Some((address, interrupted));
            let (frame, same) = self.namer.frame(address, interrupted, taken.at.0);
            always &= same;
            counts.count(self.namer.kind(frame));
            self.frames.push(frame);
        }
        let key = self.table.intern(self.frames.iter().map(|frame| CodeAddress(frame.0.into())));
        let stack = Stack { key, put_back, counts };
        if always {
            self.stacks.insert(taken.place, stack);
        }
        stack
    }

    fn put_caller_back(&mut self, taken: &Taken, kernel: usize) -> bool {
        let Some(leaf) = self.addresses.get(kernel).copied() else { return false };
        let caller = self.callers.missing(self.process, &self.namer, taken, leaf);
        let Some(caller) = caller.filter(|caller| self.addresses.get(kernel + 1) != Some(caller)) else {
            return false;
        };
        self.addresses.insert(kernel + 1, caller);
        true
    }

    fn into_profiles(self, duration_ns: u64) -> [Profile; 3] {
        let Building { process, namer, table, sides, .. } = self;
        let (frames, nodes) = table.into_named(|number| namer.named(number.0));
        let mut titles = ["time on the CPU", "time waiting", "time ready without a processor"].into_iter();
        sides.map(|mut one| {
            one.samples.sort_by_key(|sample| (sample.thread, sample.at_ns));
            Profile {
                title: titles.next().unwrap_or_default().to_owned(),
                weight: Weight::Nanoseconds,
                started: None,
                duration_ns,
                process: Some(process.pid.0.into()),
                frames: frames.clone(),
                nodes: nodes.clone(),
                threads: one.threads,
                samples: one.samples,
            }
        })
    }
}

impl Counts {
    /// Frames come innermost first.
    fn count(&mut self, kind: Option<Kind>) {
        match kind {
            Some(Kind::Managed | Kind::ManagedUnnamed) => {
                let unnamed = kind == Some(Kind::ManagedUnnamed);
                self.managed += 1;
                self.managed_unnamed += u64::from(unnamed);
                self.innermost_unnamed.get_or_insert(unnamed);
            }
            Some(Kind::Native | Kind::NativeUnnamed) => {
                self.native += 1;
                self.native_unnamed += u64::from(kind == Some(Kind::NativeUnnamed));
            }
            Some(Kind::Stub) => self.stubs += 1,
            Some(Kind::Kernel | Kind::Mark) | None => {}
        }
    }

    fn add_to(&self, quality: &mut Quality) {
        quality.managed_frames += self.managed;
        quality.managed_unnamed += self.managed_unnamed;
        quality.native_frames += self.native;
        quality.native_unnamed += self.native_unnamed;
        quality.stubs += self.stubs;
        quality.managed_samples += u64::from(self.innermost_unnamed.is_some());
        quality.managed_samples_unnamed += u64::from(self.innermost_unnamed == Some(true));
    }
}

fn nanos(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_nanos()).unwrap_or(u64::MAX)
}
