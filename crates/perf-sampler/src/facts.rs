//! What this kernel allows to this process, as it says itself.

use std::fs;

use rustix::process::{Resource, getrlimit};

const CAP_SYS_ADMIN: u32 = 21;
const CAP_IPC_LOCK: u32 = 14;
const CAP_PERFMON: u32 = 38;

/// Values that decide what is allowed and how much of it. `None` where it cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// `kernel.perf_event_paranoid`.
    pub(crate) paranoid: Option<i64>,
    /// `kernel.perf_event_max_sample_rate`, in samples per second.
    pub(crate) max_rate: Option<u32>,
    /// `kernel.perf_event_max_stack`, in frames.
    pub(crate) max_frames: Option<u32>,
    /// `kernel.perf_event_mlock_kb`, per CPU and user.
    pub(crate) ring_kb: Option<u64>,
    /// `RLIMIT_MEMLOCK` in bytes; `None` when there is no limit.
    pub(crate) lock_limit: Option<u64>,
    /// `RLIMIT_NOFILE`, the most this process may raise it to.
    pub(crate) descriptor_limit: Option<u64>,
    /// Effective capabilities, a bit each.
    pub(crate) capabilities: u64,
    /// Whether system calls are filtered.
    pub(crate) filtered: bool,
    /// Whether this is a user namespace of its own, whose capabilities the kernel does not count.
    pub(crate) inner_user_namespace: bool,
    /// Who we are.
    pub(crate) user: u32,
    /// CPUs that run.
    pub(crate) cpus: Vec<i32>,
}

impl Facts {
    pub(crate) fn read() -> Facts {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        Facts {
            paranoid: setting("perf_event_paranoid"),
            max_rate: setting("perf_event_max_sample_rate"),
            max_frames: setting("perf_event_max_stack"),
            ring_kb: setting("perf_event_mlock_kb"),
            lock_limit: getrlimit(Resource::Memlock).current,
            descriptor_limit: getrlimit(Resource::Nofile).maximum,
            capabilities: field("CapEff").and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0),
            filtered: field("Seccomp").is_some_and(|mode| mode == "2"),
            inner_user_namespace: fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !is_whole(&map)),
            user: rustix::process::geteuid().as_raw(),
            cpus: fs::read_to_string("/sys/devices/system/cpu/online")
                .ok()
                .and_then(|list| cpu_list(&list))
                .unwrap_or_else(all_cpus),
        }
    }

    /// Whether the kernel takes this process for one that may watch everything.
    pub(crate) fn may_watch_all(&self) -> bool {
        !self.inner_user_namespace && (self.has(CAP_PERFMON) || self.has(CAP_SYS_ADMIN))
    }

    /// Whether rings of this process have no limit.
    pub(crate) fn may_lock_memory(&self) -> bool {
        !self.inner_user_namespace && self.has(CAP_IPC_LOCK)
    }

    fn has(&self, capability: u32) -> bool {
        self.capabilities & (1 << capability) != 0
    }
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
}

/// Whether a map of users is that of the first namespace: all users, as they are.
fn is_whole(map: &str) -> bool {
    let mut words = map.split_whitespace();
    let first = [words.next(), words.next(), words.next()];
    first == [Some("0"), Some("0"), Some("4294967295")] && words.next().is_none()
}

/// A list like `0-3,8`. `None` when it is not one, or names no CPU.
fn cpu_list(text: &str) -> Option<Vec<i32>> {
    /// More than any kernel supports.
    const MOST: i32 = 1 << 16;
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (i32, i32) = (first.parse().ok()?, last.parse().ok()?);
        if first < 0 || last < first || last >= MOST {
            return None;
        }
        cpus.extend(first..=last);
    }
    (!cpus.is_empty()).then_some(cpus)
}

fn all_cpus() -> Vec<i32> {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    (0..i32::try_from(count).unwrap_or(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0-1\n"), Some(vec![0, 1]));
        assert_eq!(cpu_list("0,2-4,7"), Some(vec![0, 2, 3, 4, 7]));
        for bad in ["", "x", "3-1", "-1", "0-99999999", "1,,2"] {
            assert_eq!(cpu_list(bad), None, "{bad}");
        }
    }

    #[test]
    fn capabilities_of_an_inner_user_namespace_do_not_count() {
        let outer = Facts { capabilities: 1 << CAP_PERFMON, ..Facts::default() };
        assert!(outer.may_watch_all());
        let inner = Facts { inner_user_namespace: true, ..outer };
        assert!(!inner.may_watch_all());
        assert!(is_whole("         0          0 4294967295\n"));
        assert!(!is_whole("         0       1000          1\n"));
    }

    #[test]
    fn this_machine_answers() {
        let facts = Facts::read();
        assert!(!facts.cpus.is_empty());
        assert!(facts.paranoid.is_some() && facts.max_frames.is_some_and(|frames| frames > 0), "{facts:?}");
    }
}
