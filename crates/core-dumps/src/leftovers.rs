//! Copies of a process that its runtime left behind: it forks to start `createdump`, and the fork stays when that fails.

use std::collections::HashSet;

use model::ProcessId;
use process_view::{Process, process_ids};

/// The children of a process.
pub(crate) fn children(parent: ProcessId) -> HashSet<u32> {
    let all = process_ids().unwrap_or_default();
    let is_child = |pid: &ProcessId| {
        Process::new(*pid).stat().is_ok_and(|stat| stat.parent == parent.0 && !is_over(&stat))
    };
    all.into_iter().filter(is_child).map(|pid| pid.0).collect()
}

/// Those that were not there before, other than the dumper itself.
pub(crate) fn new_copies(parent: ProcessId, before: &HashSet<u32>) -> Vec<u32> {
    let mut new: Vec<u32> = children(parent)
        .into_iter()
        .filter(|pid| !before.contains(pid))
        .filter(|&pid| {
            let program = |pid: u32| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
            program(pid).is_some() && program(pid) == program(parent.0)
        })
        .collect();
    new.sort_unstable();
    new
}

fn is_over(stat: &process_view::Stat) -> bool {
    matches!(stat.state, process_view::TaskState::Zombie | process_view::TaskState::Dead)
}
