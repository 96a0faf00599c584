//! Collecting: look at every thread again and again until the time is over.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use model::{ProcessId, ThreadId, Timestamp, WindowEnd};
use process_view::{Clock, Process, ProcessorTime, Task, TaskState, ViewError};

use crate::ProfilerError;
use crate::control::Stop;
use crate::profiler::Run;

/// Time between the first two looks: some programs live no longer.
const FIRST_PERIOD: Duration = Duration::from_millis(30);
/// Time between two looks later on, unless a look itself takes long.
const PERIOD: Duration = Duration::from_millis(250);
/// Looks take a hundredth of the time, so that we are no load ourselves.
const LOOK_SHARE: u32 = 100;

/// What was seen of one thread.
pub(super) struct Seen {
    pub(super) id: ThreadId,
    pub(super) name: String,
    pub(super) state: TaskState,
    pub(super) started_at: Timestamp,
    /// Start in ticks: with the id it names a thread for good.
    start_ticks: u64,
    /// Processor time when first seen; 0 for a thread born in the window.
    cpu_before: ProcessorTime,
    /// Processor time when last seen.
    cpu_last: ProcessorTime,
    /// Looks in which it was seen, and of those, in uninterruptible sleep.
    pub(super) looks: u32,
    pub(super) looks_in_kernel: u32,
    pub(super) born_in_window: bool,
    pub(super) ended: bool,
}

impl Seen {
    /// A thread as a test wants it: seen in every look of the window.
    #[cfg(test)]
    pub(super) fn fixed(
        id: ThreadId,
        name: &str,
        state: TaskState,
        started_at: Timestamp,
        cpu_used: u64,
    ) -> Seen {
        Seen {
            id,
            name: name.to_owned(),
            state,
            started_at,
            start_ticks: 0,
            cpu_before: ProcessorTime::default(),
            cpu_last: ProcessorTime { ran_ns: cpu_used, waited_ns: 0 },
            looks: 20,
            looks_in_kernel: 0,
            born_in_window: false,
            ended: false,
        }
    }

    /// The same thread, kept waiting for a processor for so long.
    #[cfg(test)]
    pub(super) fn kept_waiting(mut self, waited_ns: u64) -> Seen {
        self.cpu_last.waited_ns = waited_ns;
        self
    }

    /// Processor time used in the window, in nanoseconds.
    pub(super) fn cpu_used(&self) -> u64 {
        self.cpu_last.ran_ns.saturating_sub(self.cpu_before.ran_ns)
    }

    /// Time in the window in which it waited for a processor that others had, in nanoseconds.
    pub(super) fn cpu_missed(&self) -> u64 {
        self.cpu_last.waited_ns.saturating_sub(self.cpu_before.waited_ns)
    }
}

/// Everything that was seen.
pub(super) struct Watched {
    pub(super) threads: Vec<Seen>,
    pub(super) at_start: usize,
    pub(super) at_end: usize,
    pub(super) measured: Duration,
    pub(super) end: WindowEnd,
    pub(super) looks: u64,
    pub(super) bytes: u64,
    pub(super) pid: ProcessId,
}

/// Watches the target's threads for the run's duration.
pub(super) fn watch(run: &Run<'_>) -> Result<Watched, ProfilerError> {
    let process = Process::new(run.process.pid);
    let birth = process.stat().map_err(ended_or_hidden)?.start_ticks;
    // The pid may have gone to another process since the target was found.
    if run.process.start_ticks.is_some_and(|ticks| ticks != birth) {
        return Err(ProfilerError::TargetEnded);
    }
    let clock = Clock::now();
    let started = Instant::now();
    let mut watch = Watch { clock, threads: BTreeMap::new(), bytes: 0, first: true };
    let mut looks = 1;
    let mut at_end = watch.look(&process)?.ok_or(ProfilerError::TargetEnded)?;
    let at_start = at_end;
    let mut cost = started.elapsed();
    let mut measured = Duration::ZERO;
    let end = loop {
        let left = run.duration.saturating_sub(started.elapsed());
        if left.is_zero() {
            break WindowEnd::Completed;
        }
        run.control.progress(started.elapsed(), run.duration, &format!("{at_end} threads"));
        let period = if looks == 1 { FIRST_PERIOD } else { PERIOD };
        let stop = run.control.wait(left.min(period.max(cost * LOOK_SHARE)));
        let look = Instant::now();
        // Another process may have got the pid since; its threads are not the target's.
        let same = process.is_alive() && process.stat().is_ok_and(|stat| stat.start_ticks == birth);
        let looked = if same { watch.look(&process)? } else { None };
        let Some(count) = looked else {
            if measured.is_zero() {
                return Err(ProfilerError::TargetEnded);
            }
            break WindowEnd::TargetExited;
        };
        at_end = count;
        looks += 1;
        cost = look.elapsed();
        measured = started.elapsed();
        if stop == Stop::Cancelled {
            break WindowEnd::Cancelled;
        }
    };
    let threads: Vec<Seen> = watch.threads.into_values().collect();
    Ok(Watched { threads, at_start, at_end, measured, end, looks, bytes: watch.bytes, pid: process.id })
}

/// Only a process that is gone has ended; one that we may not see, or that we lack descriptors for, has not.
fn ended_or_hidden(error: ViewError) -> ProfilerError {
    match error {
        ViewError::Vanished { .. } => ProfilerError::TargetEnded,
        error => error.into(),
    }
}

struct Watch {
    clock: Clock,
    threads: BTreeMap<(ThreadId, u64), Seen>,
    bytes: u64,
    first: bool,
}

impl Watch {
    /// One look at every thread; their number, or `None` when the process is gone.
    fn look(&mut self, process: &Process) -> Result<Option<usize>, ProfilerError> {
        /// Size of the two lines the kernel writes for us per thread, roughly.
        const BYTES_PER_THREAD: u64 = 250;
        let tasks = match process.tasks() {
            Ok(tasks) => tasks,
            Err(ViewError::Vanished { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        for seen in self.threads.values_mut() {
            seen.ended = true;
        }
        let mut count = 0;
        for task in &tasks {
            count += usize::from(self.look_at(task).is_some());
            self.bytes += BYTES_PER_THREAD;
        }
        self.first = false;
        Ok((count > 0).then_some(count))
    }

    fn look_at(&mut self, task: &Task) -> Option<()> {
        let stat = task.stat().ok()?;
        let ticks = u64::try_from(self.clock.duration(stat.cpu_ticks()).as_nanos()).unwrap_or(u64::MAX);
        let cpu = task.processor_time().unwrap_or(ProcessorTime { ran_ns: ticks, waited_ns: 0 });
        let born_in_window = !self.first;
        let seen = self.threads.entry((task.id, stat.start_ticks)).or_insert_with(|| Seen {
            id: task.id,
            name: String::new(),
            state: stat.state,
            started_at: self.clock.moment(stat.start_ticks),
            start_ticks: stat.start_ticks,
            cpu_before: if born_in_window { ProcessorTime::default() } else { cpu },
            cpu_last: cpu,
            looks: 0,
            looks_in_kernel: 0,
            born_in_window,
            ended: false,
        });
        // Programs name their threads some time after they start them.
        seen.name = stat.name;
        seen.state = stat.state;
        seen.cpu_last = cpu;
        seen.looks += 1;
        seen.looks_in_kernel += u32::from(stat.state == TaskState::DiskSleep);
        seen.ended = false;
        debug_assert_eq!(seen.start_ticks, stat.start_ticks);
        Some(())
    }
}
