//! The few facts about processes that only `/proc` has.

use std::fs;
use std::path::{Path, PathBuf};

/// The child that `parent` started first, if any.
pub(crate) fn first_child_of(parent: u32) -> Option<u32> {
    let mut children: Vec<(u64, u32)> = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(|pid| Some((pid, Stat::of(pid)?)))
        .filter(|(_, stat)| stat.parent == parent)
        .map(|(pid, stat)| (stat.start_time, pid))
        .collect();
    children.sort_unstable();
    children.first().map(|(_, pid)| *pid)
}

/// Whether every thread of a process is stopped by a signal.
pub(crate) fn is_stopped(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
    })
}

/// Two fields of `/proc/PID/stat`, see proc_pid_stat(5).
struct Stat {
    parent: u32,
    start_time: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Stat> {
        // The name is in parentheses and may contain spaces and parentheses; the state is the field after it.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let start_time = fields.nth(17)?.parse().ok()?;
        Some(Stat { parent, start_time })
    }
}

/// The process id as the process itself sees it.
fn innermost_id(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace().last()?.parse().ok()
}

/// The files that a killed runtime leaves in its temporary folder: the diagnostics socket and the debugger's pipes.
pub(crate) fn files_left_by(pid: u32, temporary_folder: &Path) -> Vec<PathBuf> {
    let (Some(stat), Some(inside)) = (Stat::of(pid), innermost_id(pid)) else {
        return Vec::new();
    };
    // The runtime puts the start time into the names so that a reused process id is no danger.
    let key = format!("{inside}-{}", stat.start_time);
    [
        format!("dotnet-diagnostic-{key}-socket"),
        format!("clr-debug-pipe-{key}-in"),
        format!("clr-debug-pipe-{key}-out"),
    ]
    .into_iter()
    .map(|name| temporary_folder.join(name))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_may_look_like_fields() {
        let text = "42 (a) R 7 (b) S 17 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.parent, stat.start_time), (17, 987_654));
    }

    #[test]
    fn our_own_id_is_the_same_inside() {
        assert_eq!(innermost_id(std::process::id()), Some(std::process::id()));
    }
}
