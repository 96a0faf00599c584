//! The threads of the target: from the ids that its runtime tells to the threads that the kernel shows us.

use std::collections::HashMap;

use discovery::DotnetProcess;
use model::ProcessId;
use process_view::{Process, Task};

/// One thread.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) task: Task,
    pub(crate) name: String,
}

/// The threads of the target, by the ids that the target itself knows them by.
pub(crate) struct Roster {
    process: Process,
    /// In a pid namespace below ours, threads have other ids inside.
    nested: bool,
    members: HashMap<u64, Member>,
    /// Ids inside, by ids outside.
    inside: HashMap<u32, u64>,
}

impl Roster {
    /// The threads as they are now; none if /proc does not show the process.
    pub(crate) fn new(process: &DotnetProcess) -> Option<Roster> {
        if !process.visible {
            return None;
        }
        let mut roster = Roster::of(process.pid);
        roster.refresh();
        Some(roster)
    }

    fn of(pid: ProcessId) -> Roster {
        let process = Process::new(pid);
        let nested = process.status().is_ok_and(|status| status.ids.is_nested());
        Roster { process, nested, members: HashMap::new(), inside: HashMap::new() }
    }

    /// Looks who is there. Threads that have ended keep their names.
    pub(crate) fn refresh(&mut self) {
        let Ok(tasks) = self.process.tasks() else { return };
        for task in tasks {
            let Some(inside) = self.inside_of(&task) else { continue };
            // Programs name their threads some time after they start them.
            if let Ok(name) = task.name() {
                self.members.insert(inside, Member { task, name });
            }
        }
    }

    fn inside_of(&mut self, task: &Task) -> Option<u64> {
        if !self.nested {
            return Some(u64::from(task.id.0));
        }
        if let Some(known) = self.inside.get(&task.id.0) {
            return Some(*known);
        }
        let inside = u64::from(task.ids().ok()?.innermost()?);
        self.inside.insert(task.id.0, inside);
        Some(inside)
    }

    /// The threads.
    pub(crate) fn members(&self) -> impl Iterator<Item = (u64, &Member)> {
        self.members.iter().map(|(id, member)| (*id, member))
    }

    /// The name of a thread.
    pub(crate) fn name(&self, thread: u64) -> Option<&str> {
        self.members.get(&thread).map(|member| member.name.as_str())
    }
}
