//! What the kernel lets this user do with a process.

use std::fs;

use process_view::Process;
use rustix::fs::{StatVfsMountFlags, fstatvfs};

const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;

/// The rights of this process, and the settings that matter to them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights {
    /// Our effective user.
    pub user: u32,
    capabilities: u64,
    /// `kernel.perf_event_paranoid`; `None` when this kernel has no perf events.
    pub perf_paranoid: Option<i32>,
    /// `kernel.yama.ptrace_scope`; 0 when there is none.
    pub ptrace_scope: i32,
}

impl Rights {
    /// As they are now.
    pub(crate) fn now() -> Self {
        let status = Process::this().status().unwrap_or_default();
        Rights {
            user: status.user,
            capabilities: status.capabilities,
            perf_paranoid: setting("/proc/sys/kernel/perf_event_paranoid"),
            ptrace_scope: setting("/proc/sys/kernel/yama/ptrace_scope").unwrap_or(0),
        }
    }

    fn has(&self, capability: u32) -> bool {
        self.capabilities & (1 << capability) != 0
    }

    /// May trace other users' processes.
    pub(crate) fn may_trace_others(&self) -> bool {
        self.has(CAP_SYS_PTRACE)
    }

    /// May sample beyond what `perf_event_paranoid` allows.
    pub(crate) fn may_sample_anything(&self) -> bool {
        self.has(CAP_PERFMON) || self.has(CAP_SYS_ADMIN)
    }

    /// Whether the memory of a process can be read now. Opening is the kernel's whole check; nothing is read.
    pub(crate) fn may_read_memory(process: &Process) -> bool {
        fs::File::open(format!("/proc/{}/mem", process.id)).is_ok()
    }
}

fn setting(path: &str) -> Option<i32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Whether programs and libraries may be run from a folder. `None` when it cannot be looked at.
pub(crate) fn is_executable_folder(folder: &fs::File) -> Option<bool> {
    fstatvfs(folder).ok().map(|mount| !mount.f_flag.contains(StatVfsMountFlags::NOEXEC))
}
