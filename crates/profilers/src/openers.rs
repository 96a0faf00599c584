//! Who opens files and sockets that stay open: half of a profiler, for those who have the rest.
//!
//! ```text
//! breakpoints at open, socket, accept of the C library --> where they return to
//! breakpoints there: the new descriptor in a register, and the stack --> those whose descriptor is still open at the end
//! ```
//!
//! The breakpoints are the processor's own, set by the kernel: nothing is changed in the process, nobody stops for longer than a
//! sample takes, and its own user may do it where `kernel.perf_event_paranoid` is 2 or less.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};

use kernel_collector::{Collecting, Request, Target};
use model::{Cost, Frame, ProcessId, WindowEnd};
use native_symbols::{DebugFolders, MemoryMap, exported};
use perf_sampler::{Collect, KernelFrames, Options, Record, Sampler, SamplerError, Scope, Wake};
use process_view::{Process, ViewError};
use stacks::{Profile, StackKey};

use crate::ProfilerError;
use crate::control::Stop;
use crate::profiler::Run;

/// Functions that return a new descriptor, each with other names that it may have.
const FUNCTIONS: &[&[&str]] = &[&["open64", "open"], &["socket"], &["accept4"], &["inotify_init"]];
/// Processors watch for so many places at once.
const MOST_PLACES: usize = 4;
/// Of the time, the part in which it is found out where these functions return to.
const LEARNING: f64 = 0.35;
/// At least this long, if anything was opened at all: others may open less often.
const LEAST_LEARNING: Duration = Duration::from_millis(400);
/// Room for samples: more descriptors a second than anybody leaks.
const RATE_HZ: u32 = 1000;
/// Bytes of stack with each sample; the frames of compiled code are found without.
const STACK_BYTES: u32 = 1024;
/// The address that a function returns to.
const ADDRESS_BYTES: u32 = 8;
/// What was opened within this time before the end may be closed yet.
const SETTLED: Duration = Duration::from_millis(300);
/// How long is waited at once.
const SLICE: Duration = Duration::from_millis(50);

/// What came of it.
#[derive(Clone, Debug)]
pub struct Openers {
    /// Stacks, innermost frame first, that opened what was not closed, and how many descriptors that is; the most first.
    pub left_open: Vec<(Vec<Frame>, u64)>,
    /// Descriptors that were opened, also those that were closed again.
    pub opened: u64,
    /// How long was looked.
    pub measured: Duration,
    /// Why it ended.
    pub end: WindowEnd,
    /// What it cost.
    pub cost: Cost,
    /// What a reader must know to trust the numbers.
    pub notes: Vec<String>,
}

/// Watches who opens what, and which of it stays open.
pub fn openers(run: &Run<'_>) -> Result<Openers, ProfilerError> {
    let pid = run.process.pid;
    if !run.process.visible {
        return Err(ProfilerError::NotVisible { profiler: "openers" });
    }
    if Process::new(pid).is_alive() {
        // Who may not see what is open cannot say what stays open.
        descriptors(pid)?;
    }
    let functions = functions(pid);
    let learned = returns(run, &functions)?;
    if learned.places.is_empty() {
        return Ok(Openers {
            left_open: Vec::new(),
            opened: 0,
            measured: learned.took,
            end: learned.ended.unwrap_or(WindowEnd::Completed),
            cost: Cost { method: METHOD.to_owned(), ..Cost::default() },
            notes: functions.is_empty().then(|| NO_LIBRARY.to_owned()).into_iter().collect(),
        });
    }
    let mut request = Request::new(vec![Target::from(run.process)], Collect::Places);
    request.sampling = Options { stack_bytes: STACK_BYTES, ..options(pid, learned.places) };
    let mut collecting = Collecting::start(request).map_err(sampling)?;
    // To start may take seconds, which are not part of the time.
    let begin = Instant::now();
    let time = run.duration.saturating_sub(learned.took);
    let end = loop {
        let left = time.saturating_sub(begin.elapsed());
        if left.is_zero() {
            break WindowEnd::Completed;
        }
        if run.control.wait(Duration::ZERO) == Stop::Cancelled {
            break WindowEnd::Cancelled;
        }
        if collecting.wait(left.min(SLICE))? == Wake::TargetsEnded || !Process::new(pid).is_alive() {
            break WindowEnd::TargetExited;
        }
    };
    let measured = learned.took + begin.elapsed();
    let open = if end == WindowEnd::TargetExited { BTreeSet::new() } else { descriptors(pid)? };
    let recorded = collecting.finish();
    let counts = recorded.summary.counts;
    let profile = recorded.processes.first().map(|process| &process.profiles.on_cpu);
    let left_open = profile.map(|profile| left_open(profile, &open)).unwrap_or_default();
    let lost = (counts.lost > 0).then(|| format!("{} descriptors were not seen being opened", counts.lost));
    Ok(Openers {
        left_open,
        opened: profile.map_or(0, opened),
        measured,
        end,
        cost: Cost {
            method: METHOD.to_owned(),
            bytes: counts.stack_bytes,
            events: counts.on_cpu,
            events_lost: counts.lost,
            ..Cost::default()
        },
        notes: lost.into_iter().collect(),
    })
}

const METHOD: &str =
    "breakpoints of the processor behind open, socket and accept; nothing changed in the process";

const NO_LIBRARY: &str = "its C library was not found, so who opens was not seen";

/// Why nothing was sampled.
pub(crate) fn sampling(error: SamplerError) -> ProfilerError {
    match error {
        SamplerError::NoSuchProcess { .. } => ProfilerError::TargetEnded,
        other => ProfilerError::Sampling(other),
    }
}

fn options(pid: ProcessId, places: Vec<u64>) -> Options {
    Options {
        collect: Collect::Places,
        rate_hz: RATE_HZ,
        kernel_frames: KernelFrames::Unwanted,
        stack_bytes: ADDRESS_BYTES,
        places,
        ..Options::new(Scope::process(pid))
    }
}

/// Where the functions lie in a process.
fn functions(pid: ProcessId) -> Vec<u64> {
    let folders = DebugFolders { root: Process::new(pid).root(), cache: None };
    let names: Vec<&str> = FUNCTIONS.iter().flat_map(|names| names.iter().copied()).collect();
    let map = MemoryMap::of_process(pid).unwrap_or_default();
    let found = exported(&map, &folders, is_c_library, &names);
    let first = |names: &&[&str]| names.iter().find_map(|name| found.get(name).copied());
    FUNCTIONS.iter().filter_map(first).take(MOST_PLACES).collect()
}

fn is_c_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ["libc.so", "libc-", "ld-musl"].iter().any(|known| name.starts_with(known))
}

/// Where functions return to.
#[derive(Default)]
struct Learned {
    /// Most often first.
    places: Vec<u64>,
    /// How long it took, without the start.
    took: Duration,
    /// Why it ended, if it ended early.
    ended: Option<WindowEnd>,
}

/// Finds out where these functions return to.
fn returns(run: &Run<'_>, functions: &[u64]) -> Result<Learned, ProfilerError> {
    if functions.is_empty() {
        return Ok(Learned::default());
    }
    let pid = run.process.pid;
    let mut sampler = Sampler::start(&options(pid, functions.to_vec())).map_err(sampling)?;
    let begin = Instant::now();
    let most = run.duration.mul_f64(LEARNING);
    let mut seen: HashMap<u64, u64> = HashMap::new();
    let mut ended = None;
    while begin.elapsed() < most && (seen.is_empty() || begin.elapsed() < LEAST_LEARNING) {
        if run.control.wait(Duration::ZERO) == Stop::Cancelled {
            ended = Some(WindowEnd::Cancelled);
            break;
        }
        if sampler.wait(SLICE)? == Wake::TargetsEnded {
            ended = Some(WindowEnd::TargetExited);
            break;
        }
        sampler.read(&mut |record| {
            if let Record::OnCpu(sample) = record
                && let Some(address) = sample.stack.memory.first_chunk()
            {
                *seen.entry(u64::from_ne_bytes(*address)).or_default() += 1;
            }
        });
    }
    let mut places: Vec<(u64, u64)> = seen.into_iter().map(|(address, count)| (count, address)).collect();
    places.sort_unstable_by(|one, other| other.cmp(one));
    let places = places.into_iter().take(MOST_PLACES).map(|(_, address)| address).collect();
    Ok(Learned { places, took: begin.elapsed(), ended })
}

/// Numbers of the open descriptors of a process.
fn descriptors(pid: ProcessId) -> Result<BTreeSet<u64>, ViewError> {
    let path = format!("/proc/{pid}/fd");
    let entries = std::fs::read_dir(&path).map_err(|source| ViewError::Io { path, source })?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// How many descriptors were opened. The weight of a sample is the descriptor's number, or a negative one if the call failed.
fn opened(profile: &Profile) -> u64 {
    profile.samples.iter().filter(|sample| i32::try_from(sample.weight).is_ok()).count() as u64
}

/// Stacks by the descriptors that they opened last and that are open.
fn left_open(profile: &Profile, open: &BTreeSet<u64>) -> Vec<(Vec<Frame>, u64)> {
    let mut openers: BTreeMap<u64, (u64, Option<StackKey>)> = BTreeMap::new();
    for sample in &profile.samples {
        let last = openers.entry(sample.weight).or_insert((sample.at_ns, sample.stack));
        if sample.at_ns >= last.0 {
            *last = (sample.at_ns, sample.stack);
        }
    }
    let until = profile.duration_ns.saturating_sub(u64::try_from(SETTLED.as_nanos()).unwrap_or(0));
    let mut stacks: BTreeMap<StackKey, u64> = BTreeMap::new();
    for (_, (at, stack)) in openers.into_iter().filter(|(number, _)| open.contains(number)) {
        if let Some(stack) = stack.filter(|_| at < until) {
            *stacks.entry(stack).or_default() += 1;
        }
    }
    let frames = |stack: StackKey| profile.frames_of(stack).cloned().collect();
    let mut all: Vec<(Vec<Frame>, u64)> =
        stacks.into_iter().map(|(stack, count)| (frames(stack), count)).collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all
}

#[cfg(test)]
mod tests {
    use model::FrameKind;
    use stacks::{FrameId, ProfileThread, Sample, StackNode, ThreadSlot, Weight};

    use super::*;

    /// Calls from one place, a tenth of a second apart, that returned these numbers.
    fn returned(numbers: &[u64]) -> Profile {
        let samples = (0..).zip(numbers).map(|(at, number)| Sample {
            at_ns: at * 100_000_000,
            weight: *number,
            thread: ThreadSlot(0),
            stack: Some(StackKey(0)),
        });
        let frame = Frame {
            kind: FrameKind::Managed,
            name: "Store.Open".to_owned(),
            module: None,
            file: None,
            line: None,
        };
        Profile {
            title: "places".to_owned(),
            weight: Weight::Count,
            started: None,
            duration_ns: 4_000_000_000,
            process: None,
            frames: vec![frame],
            nodes: vec![StackNode { caller: None, frame: FrameId(0) }],
            threads: vec![ProfileThread { id: 1, name: None }],
            samples: samples.collect(),
        }
    }

    #[test]
    fn calls_that_fail_open_nothing() {
        // -1, as 32 bits.
        let profile = returned(&[7, u64::from(u32::MAX), 8]);
        assert_eq!(opened(&profile), 2);
    }

    #[test]
    fn what_is_open_still_counts_once_for_who_opened_it_last() {
        let profile = returned(&[7, 8, 7, 9]);
        let left = left_open(&profile, &BTreeSet::from([0, 7, 9]));
        assert_eq!(left.len(), 1);
        assert_eq!((left[0].0[0].name.as_str(), left[0].1), ("Store.Open", 2));
    }
}
