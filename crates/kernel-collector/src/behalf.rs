//! CPU time that a target spends on our behalf: its threads that serve diagnostics.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use model::{ProcessId, ThreadId};
use process_view::{Process, Task};

/// The runtime's threads that answer requests and send events. .NET Core 3.1 does not name them.
const SERVER: &str = ".NET EventPipe";

/// What the threads had used when we began, and at the latest look. Those that send a session's events end with it.
pub(crate) struct Clocks {
    pid: ProcessId,
    /// Threads that were there when we began and do something else; they are not asked for their names again.
    others: BTreeSet<ThreadId>,
    before: BTreeMap<ThreadId, u64>,
    latest: BTreeMap<ThreadId, u64>,
}

impl Clocks {
    pub(crate) fn of(pid: ProcessId) -> Clocks {
        let mut clocks =
            Clocks { pid, others: BTreeSet::new(), before: BTreeMap::new(), latest: BTreeMap::new() };
        clocks.before = clocks.servers();
        let ids = Process::new(pid).tasks().unwrap_or_default().into_iter().map(|task| task.id);
        clocks.others = ids.filter(|id| !clocks.before.contains_key(id)).collect();
        clocks
    }

    /// Looks at them; to be called now and then, because such threads come and go.
    pub(crate) fn look(&mut self) {
        self.latest.extend(self.servers());
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

    fn servers(&self) -> BTreeMap<ThreadId, u64> {
        let tasks = Process::new(self.pid).tasks().unwrap_or_default().into_iter();
        let serves = |task: &Task| task.name().is_ok_and(|name| name == SERVER);
        tasks
            .filter(|task| !self.others.contains(&task.id) && serves(task))
            .filter_map(|task| Some((task.id, task.processor_time()?.ran_ns)))
            .collect()
    }
}
