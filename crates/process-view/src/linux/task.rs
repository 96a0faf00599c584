//! One thread of a process.

use model::{ProcessId, ThreadId};

use super::process::read_line;
use super::stat::Stat;
use crate::ViewError;

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

    /// Processor time in nanoseconds, from `schedstat`, which is finer than the ticks of `stat`. `None` on
    /// kernels without it.
    #[must_use]
    pub fn cpu_nanos(&self) -> Option<u64> {
        let text = read_line(self.process, &self.path("schedstat")).ok()?;
        text.split_ascii_whitespace().next()?.parse().ok()
    }

    /// Its name; readable by everybody.
    pub fn name(&self) -> Result<String, ViewError> {
        read_line(self.process, &self.path("comm")).map(|name| name.trim_end_matches('\n').to_owned())
    }

    fn path(&self, file: &str) -> String {
        format!("/proc/{}/task/{}/{file}", self.process, self.id)
    }
}
