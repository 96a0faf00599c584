//! One thread of a process.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use model::{ProcessId, ThreadId};

use super::process::{read_line, read_text};
use super::stat::Stat;
use super::status::{IdMap, Status};
use crate::ViewError;

/// What a thread got of the processors, and what it wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Nanoseconds on a processor.
    pub ran_ns: u64,
    /// Nanoseconds ready to run, while others ran.
    pub waited_ns: u64,
}

impl ProcessorTime {
    fn parse(text: &str) -> Option<ProcessorTime> {
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        Some(ProcessorTime { ran_ns: numbers.next()?.ok()?, waited_ns: numbers.next()?.ok()? })
    }
}

/// The open file of a thread's processor time: one system call a look, for those who look hundreds of times a second.
#[derive(Debug)]
pub struct ProcessorClock {
    file: File,
}

impl ProcessorClock {
    /// What it says now; `None` when the thread has ended.
    #[must_use]
    pub fn read(&self) -> Option<ProcessorTime> {
        let mut buffer = [0; 128];
        let length = self.file.read_at(&mut buffer, 0).ok()?;
        ProcessorTime::parse(std::str::from_utf8(buffer.get(..length)?).ok()?)
    }
}

/// One thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    pub(crate) process: ProcessId,
    /// Its id.
    pub id: ThreadId,
}

impl Task {
    /// Its `stat` line.
    pub fn stat(&self) -> Result<Stat, ViewError> {
        let path = self.path("stat");
        let text = read_line(self.process, &path)?;
        Stat::parse(&text).ok_or(ViewError::Malformed { path, field: "thread state" })
    }

    /// How long it ran and how long it waited for a processor, from `schedstat`, which is finer than the ticks of
    /// `stat`. `None` on kernels without it.
    #[must_use]
    pub fn processor_time(&self) -> Option<ProcessorTime> {
        ProcessorTime::parse(&read_line(self.process, &self.path("schedstat")).ok()?)
    }

    /// Its ids in each pid namespace: what the process itself calls it stands last.
    pub fn ids(&self) -> Result<IdMap, ViewError> {
        let path = self.path("status");
        let status = Status::parse(&read_text(self.process, &path)?);
        status.map(|status| status.ids).ok_or(ViewError::Malformed { path, field: "user" })
    }

    /// How often it gave up a processor to wait for something, so far.
    #[must_use]
    pub fn rests(&self) -> Option<u64> {
        Status::parse(&read_text(self.process, &self.path("status")).ok()?)?.rests
    }

    /// Opens its processor time, to be read often.
    #[must_use]
    pub fn processor_clock(&self) -> Option<ProcessorClock> {
        let file = File::open(self.path("schedstat")).ok()?;
        let clock = ProcessorClock { file };
        clock.read().map(|_| clock)
    }

    /// When it last ran, on the scheduler's clock, which begins when the machine starts and stands still in interrupts. `None` on
    /// kernels that do not tell. To be compared with that of a thread that runs now, see [`crate::scheduler_now`].
    #[must_use]
    pub fn last_ran(&self) -> Option<Duration> {
        last_ran(&read_text(self.process, &self.path("sched")).ok()?)
    }

    /// The system call that it waits in, by its number on this kind of processor. `None` if it waits in none, or for those
    /// who may not trace it.
    #[must_use]
    pub fn system_call(&self) -> Option<u32> {
        let text = read_line(self.process, &self.path("syscall")).ok()?;
        // A thread that runs says so, and one that waits outside of a call has the number -1.
        text.split_ascii_whitespace().next()?.parse().ok()
    }

    /// The kernel's function that it waits in. `None` if it does not wait, or for those who may not trace it.
    #[must_use]
    pub fn kernel_function(&self) -> Option<String> {
        let text = read_line(self.process, &self.path("wchan")).ok()?;
        let name = text.trim();
        (!name.is_empty() && name != "0").then(|| name.to_owned())
    }

    /// Its name; readable by everybody.
    pub fn name(&self) -> Result<String, ViewError> {
        read_line(self.process, &self.path("comm")).map(|name| name.trim_end_matches('\n').to_owned())
    }

    fn path(&self, file: &str) -> String {
        format!("/proc/{}/task/{}/{file}", self.process, self.id)
    }
}

/// The scheduler's clock, see [`Task::last_ran`].
#[must_use]
pub fn scheduler_now() -> Option<Duration> {
    last_ran(&std::fs::read_to_string("/proc/thread-self/sched").ok()?)
}

/// The line `se.exec_start`, in milliseconds.
fn last_ran(text: &str) -> Option<Duration> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("se.exec_start"))?;
    let milliseconds: f64 = line.trim_start().strip_prefix(':')?.trim().parse().ok()?;
    Duration::try_from_secs_f64(milliseconds / 1000.0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_thread_has_just_run() {
        // Kernels without scheduler statistics do not tell.
        let Some(now) = scheduler_now() else { return };
        assert!(scheduler_now().unwrap() >= now);
        assert_eq!(last_ran("se.exec_start     :   1500.25\n"), Some(Duration::from_micros(1_500_250)));
        assert_eq!(last_ran("se.exec_start : -3"), None);
        assert_eq!(last_ran("nothing"), None);
    }

    #[test]
    fn a_thread_that_waits_says_in_what() {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let waiting = std::thread::spawn(move || ended.recv());
        let me = crate::Process::this();
        let readable = |task: &super::Task| std::fs::read(task.path("syscall")).is_ok();
        let tasks = me.tasks().unwrap();
        // Kernels may be built without it.
        if tasks.iter().all(readable) {
            let waits = |task: &super::Task| task.system_call().is_some();
            while !me.tasks().unwrap().iter().any(waits) {
                std::thread::yield_now();
            }
        }
        drop(end);
        assert!(waiting.join().is_ok());
    }

    #[test]
    fn the_clock_of_a_thread_goes_forward() {
        let me = crate::Process::this();
        let task = me.tasks().unwrap().into_iter().find(|task| task.id.0 == me.id.0).unwrap();
        assert!(task.ids().unwrap().innermost().is_some());
        // Kernels without schedstat have no such clock.
        let Some(clock) = task.processor_clock() else { return };
        let before = clock.read().unwrap();
        assert!(task.processor_time().unwrap().ran_ns >= before.ran_ns);
    }
}
