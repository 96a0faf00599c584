//! CPU time that a target spends on our behalf: its threads that serve diagnostics.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{ProcessId, ThreadId};
use process_view::Process;

/// The runtime's threads that answer requests and send events. .NET Core 3.1 does not name them.
const SERVER: &str = ".NET EventPipe";

/// What the threads had used when we began, and at the latest look. Those that send a session's events end with it.
pub(crate) struct Clocks {
    pid: ProcessId,
    before: BTreeMap<ThreadId, u64>,
    latest: BTreeMap<ThreadId, u64>,
}

impl Clocks {
    pub(crate) fn of(pid: ProcessId) -> Clocks {
        let before = servers(pid).collect();
        Clocks { pid, before, latest: BTreeMap::new() }
    }

    /// Looks at them; to be called now and then, because such threads come and go.
    pub(crate) fn look(&mut self) {
        self.latest.extend(servers(self.pid));
    }

    /// What they have used since the beginning.
    pub(crate) fn used(&mut self) -> Duration {
        self.look();
        let used = self
            .latest
            .iter()
            .map(|(thread, now)| now.saturating_sub(self.before.get(thread).copied().unwrap_or(0)));
        Duration::from_nanos(used.sum())
    }
}

fn servers(pid: ProcessId) -> impl Iterator<Item = (ThreadId, u64)> {
    let tasks = Process::new(pid).tasks().unwrap_or_default();
    tasks.into_iter().filter_map(|task| {
        let serves = task.name().is_ok_and(|name| name == SERVER);
        let time = task.processor_time().filter(|_| serves)?;
        Some((task.id, time.ran_ns))
    })
}
