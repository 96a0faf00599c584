//! One thread of a process.

use model::{ProcessId, ThreadId};

use super::process::read_line;
use super::stat::Stat;
use crate::ViewError;

/// What a thread got of the processors, and what it wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Nanoseconds on a processor.
    pub ran_ns: u64,
    /// Nanoseconds ready to run, while others ran.
    pub waited_ns: u64,
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
        let text = read_line(self.process, &self.path("schedstat")).ok()?;
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        Some(ProcessorTime { ran_ns: numbers.next()?.ok()?, waited_ns: numbers.next()?.ok()? })
    }

    /// Its name; readable by everybody.
    pub fn name(&self) -> Result<String, ViewError> {
        read_line(self.process, &self.path("comm")).map(|name| name.trim_end_matches('\n').to_owned())
    }

    fn path(&self, file: &str) -> String {
        format!("/proc/{}/task/{}/{file}", self.process, self.id)
    }
}
