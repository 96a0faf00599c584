//! Where threads stand, and what they are called.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use core_dumps::CoreFile;
use model::ProcessId;
use native_symbols::MemoryMap;

use crate::stacks::StackPlace;

/// Files that are kept open: half of what a process may have open on most machines.
const MOST_FILES: usize = 512;

/// Where it can be known what threads do.
pub(crate) enum Whereabouts {
    /// A process that runs.
    Process {
        pid: ProcessId,
        map: MemoryMap,
        /// In a container threads have other numbers than outside: by the inner one.
        outer_ids: Option<HashMap<u32, u32>>,
        /// Files that tell where threads stand, opened beforehand: to open one takes ten times as long as to read it.
        files: HashMap<u32, File>,
    },
    /// A core dump.
    Core(CoreFile),
}

impl Whereabouts {
    /// Those of a process that runs.
    pub(crate) fn of_process(pid: ProcessId, map: MemoryMap) -> Whereabouts {
        Whereabouts::Process { pid, map, outer_ids: outer_ids(pid), files: HashMap::new() }
    }

    /// Makes ready to tell soon where these threads stand.
    pub(crate) fn prepare(&mut self, threads: impl IntoIterator<Item = u32>) {
        let found = threads.into_iter().take(MOST_FILES);
        let found: Vec<_> =
            found.filter_map(|id| Some((id, File::open(self.path(id, "syscall")?).ok()?))).collect();
        if let Whereabouts::Process { files, .. } = self {
            *files = found.into_iter().collect();
        }
    }

    /// A file of a thread of a process.
    fn path(&self, os_id: u32, file: &str) -> Option<String> {
        let Whereabouts::Process { pid, outer_ids, .. } = self else { return None };
        let os_id = match outer_ids {
            Some(ids) => *ids.get(&os_id)?,
            None => os_id,
        };
        Some(format!("/proc/{pid}/task/{os_id}/{file}"))
    }

    /// What the kernel says of a thread's call into it.
    fn syscall(&self, os_id: u32) -> Option<String> {
        let Whereabouts::Process { files, .. } = self else { return None };
        let Some(file) = files.get(&os_id) else {
            return std::fs::read_to_string(self.path(os_id, "syscall")?).ok();
        };
        let mut text = [0; 256];
        let length = file.read_at(&mut text, 0).ok()?;
        Some(String::from_utf8_lossy(text.get(..length)?).into_owned())
    }

    /// Where a thread stands.
    pub(crate) fn place(&self, os_id: u32) -> StackPlace {
        match self {
            Whereabouts::Process { map, .. } => {
                let syscall = self.syscall(os_id).unwrap_or_default();
                // `number argument... stack-pointer program-counter`, or `running`.
                let pointer =
                    syscall.split_whitespace().rev().nth(1).and_then(|text| text.strip_prefix("0x"));
                let pointer = pointer.and_then(|digits| u64::from_str_radix(digits, 16).ok());
                let end = pointer.and_then(|pointer| map.find(pointer)).map(|mapping| mapping.end);
                StackPlace { stack_pointer: pointer, end, registers: Vec::new() }
            }
            Whereabouts::Core(core) => {
                let Some(thread) = core.threads().iter().find(|thread| thread.id == os_id) else {
                    return StackPlace::default();
                };
                let pointer = thread.stack_pointer();
                let end = pointer.and_then(|pointer| core.end_of(pointer));
                StackPlace { stack_pointer: pointer, end, registers: thread.registers.clone() }
            }
        }
    }

    /// What a thread is called.
    pub(crate) fn name(&self, os_id: u32) -> Option<String> {
        Some(std::fs::read_to_string(self.path(os_id, "comm")?).ok()?.trim_end().to_owned())
    }
}

/// The numbers of threads outside of their container, by those inside; none where they are the same.
fn outer_ids(pid: ProcessId) -> Option<HashMap<u32, u32>> {
    let inner = |id: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/task/{id}/status")).ok()?;
        let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        ids.split_whitespace().next_back()?.parse::<u32>().ok()
    };
    if inner(pid.0)? == pid.0 {
        return None;
    }
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let outer = tasks.filter_map(|task| task.file_name().to_str()?.parse::<u32>().ok());
    Some(outer.filter_map(|outer| Some((inner(outer)?, outer))).collect())
}
