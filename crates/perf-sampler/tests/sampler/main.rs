//! The sampler on real .NET processes, as root and as an ordinary user. Other tests run beside these and the machine
//! may be busy, so nothing is compared with a wall clock: only with what the kernel counts of the same threads.

mod lives;
mod off_cpu;
mod on_cpu;
mod ordinary_user;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use model::{ProcessId, ThreadId};
use perf_sampler::{
    Options, Record, Sampler, Scope, Seen, StackView, Summary, SwitchId, Timestamp, Wait, Wake,
};
use process_view::Process;
use testbed::{Runtime, Target, shared};

/// How long things may take that take no time on an idle machine.
const LONG: Duration = Duration::from_secs(120);
/// How often the end of a test is looked for.
const OFTEN: Duration = Duration::from_millis(20);

fn pid(target: &Target) -> ProcessId {
    ProcessId(target.pid())
}

fn start(patient: &str) -> Target {
    shared().target(patient, Runtime::Net9).start().expect("the patient starts")
}

fn options(target: &Target) -> Options {
    Options::new(Scope::process(pid(target)))
}

/// Whether this user has rights over the machine; else says that the test does not run.
fn may_watch_all() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: needs root");
    }
    root
}

/// CPU time of each thread by the scheduler's count.
fn ran(process: ProcessId) -> BTreeMap<ThreadId, Duration> {
    let tasks = Process::new(process).tasks().unwrap_or_default();
    tasks
        .iter()
        .filter_map(|task| Some((task.id, Duration::from_nanos(task.processor_time()?.ran_ns))))
        .collect()
}

/// CPU time of all threads that are alive.
fn ran_in_all(process: ProcessId) -> Duration {
    ran(process).values().sum()
}

/// What a sampler told.
#[derive(Default)]
struct Story {
    /// CPU time by samples, per thread.
    sampled: BTreeMap<ThreadId, Duration>,
    processes: BTreeSet<ProcessId>,
    samples: u64,
    user_only: u64,
    with_kernel: u64,
    with_memory: u64,
    /// Samples whose copied stack holds the caller where the frame pointer says.
    caller_in_memory: u64,
    waits: Vec<Wait>,
    /// Of each leaving whether its stack has user frames.
    leavings: BTreeMap<SwitchId, bool>,
    began: BTreeSet<ThreadId>,
    ended: BTreeSet<ThreadId>,
    mapped: Vec<(String, bool)>,
    execs: u64,
    last: Option<Timestamp>,
    out_of_order: u64,
}

impl Story {
    fn hear(&mut self, record: &Record<'_>) {
        let time = match record {
            Record::OnCpu(sample) => {
                self.samples += 1;
                *self.sampled.entry(sample.thread.id).or_default() += sample.weight;
                self.processes.insert(sample.thread.process);
                self.hear_stack(&sample.stack);
                sample.time
            }
            Record::SwitchOut(switch) => {
                self.leavings.insert(switch.id, !switch.stack.user.is_empty());
                switch.time
            }
            Record::OffCpu(wait) => {
                self.waits.push(*wait);
                wait.to
            }
            Record::Mapped(mapped) => {
                let has_build_id = matches!(mapped.key, perf_sampler::FileKey::BuildId(_));
                self.mapped.push((String::from_utf8_lossy(mapped.path).into_owned(), has_build_id));
                mapped.time
            }
            Record::Named { time, exec, .. } => {
                self.execs += u64::from(*exec);
                *time
            }
            Record::Began { thread, time, .. } => {
                self.began.insert(thread.id);
                *time
            }
            Record::Ended { thread, time } => {
                self.ended.insert(thread.id);
                *time
            }
            Record::Lost { time, .. } | Record::Throttled { time } => *time,
            _ => return,
        };
        self.out_of_order += u64::from(self.last.is_some_and(|last| time < last));
        self.last = Some(time);
    }

    fn hear_stack(&mut self, stack: &StackView<'_>) {
        self.with_kernel += u64::from(!stack.kernel.is_empty());
        self.user_only += u64::from(stack.kernel.is_empty() && !stack.user.is_empty());
        self.with_memory += u64::from(!stack.memory.is_empty());
        let Some(registers) = stack.registers else { return };
        let Some(caller) = stack.user.iter().nth(1) else { return };
        let at = registers.bp.wrapping_sub(registers.sp).wrapping_add(8);
        let word = usize::try_from(at).ok().and_then(|at| stack.memory.get(at..)?.first_chunk::<8>());
        self.caller_in_memory += u64::from(word.is_some_and(|word| u64::from_ne_bytes(*word) == caller));
    }

    /// Time off the CPU, per thread.
    fn off(&self) -> BTreeMap<ThreadId, Duration> {
        let mut off = BTreeMap::new();
        for wait in &self.waits {
            *off.entry(wait.thread.id).or_default() += wait.duration();
        }
        off
    }
}

/// Samples until the condition holds or the targets have ended.
fn sample(sampler: Sampler, mut enough: impl FnMut(&Story) -> bool) -> (Story, Summary) {
    let mut sampler = sampler;
    let mut story = Story::default();
    let begun = Instant::now();
    loop {
        let wake = sampler.wait(OFTEN).expect("waiting works");
        sampler.read(&mut |record| story.hear(record));
        if wake == Wake::TargetsEnded || enough(&story) {
            break;
        }
        assert!(begun.elapsed() < LONG, "not enough came: {:?}", sampler.counts());
    }
    let summary = sampler.finish(&mut |record| story.hear(record));
    assert_eq!(summary.counts.broken, 0, "every record was understood");
    (story, summary)
}

/// That a time is within some percent of another, give or take what a few ticks are.
#[track_caller]
fn assert_close(what: &str, got: Duration, expected: Duration, percent: (u32, u32), slack: Duration) {
    let low = (expected * percent.0 / 100).saturating_sub(slack);
    let high = expected * percent.1 / 100 + slack;
    assert!((low..=high).contains(&got), "{what}: {got:?} is not within {low:?} to {high:?} ({expected:?})");
}

fn whole(wait: &Wait) -> bool {
    wait.seen == Seen::Whole
}
