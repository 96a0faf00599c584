//! How much memory the target can spare: its control groups have limits, and who goes over one is killed.

use std::fs;
use std::path::{Path, PathBuf};

/// Least and most room that is asked for, in megabytes. Other tools always ask for the most.
const LEAST: u64 = 64;
const MOST: u64 = 1024;

/// Room for events in a process, in megabytes: a quarter of what its machine and its cgroup have left. It is taken only
/// as far as events come faster than they are read.
#[must_use]
pub fn spare_room(pid: u32) -> u32 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    let group = memory_limit(pid).map(|limit| limit.left());
    let left = [machine, group].into_iter().flatten().min().unwrap_or(0);
    u32::try_from(((left / 4) >> 20).clamp(LEAST, MOST)).unwrap_or(u32::MAX)
}

/// `MemAvailable` in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The memory limit of a control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Bytes that are allowed.
    pub limit: u64,
    /// Bytes in use that the kernel cannot take back at once.
    pub used: u64,
}

impl MemoryLimit {
    /// Bytes that are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }
}

/// The limit that is nearest to being reached, of a process's control group and of those around it.
#[must_use]
pub fn memory_limit(pid: u32) -> Option<MemoryLimit> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    groups(&text).iter().filter_map(|group| group.read()).min_by_key(MemoryLimit::left)
}

/// A control group whose memory may be limited.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    folder: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The groups that a process is in, each with those around it. A process of a container that is seen from within has the
/// path `/` and its limit in the topmost folder.
fn groups(cgroup: &str) -> Vec<Group> {
    let mut found = Vec::new();
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (top, version) = if number == "0" && controllers.is_empty() {
            ("/sys/fs/cgroup", Version::Two)
        } else if controllers.split(',').any(|controller| controller == "memory") {
            ("/sys/fs/cgroup/memory", Version::One)
        } else {
            continue;
        };
        // The path of a group outside of our own part of the tree begins with "/..": it has no folder here.
        let inner = path.trim_start_matches('/');
        let above = Path::new(inner).ancestors().filter(|part| !part.starts_with(".."));
        found.extend(above.map(|part| Group { folder: Path::new(top).join(part), version }));
    }
    found
}

impl Group {
    /// Its limit, if it has one.
    fn read(&self) -> Option<MemoryLimit> {
        let text = |file: &str| fs::read_to_string(self.folder.join(file)).ok();
        let number = |file: &str| text(file)?.trim().parse::<u64>().ok();
        let (limit, used) = match self.version {
            // "max" is no number: no limit.
            Version::Two => (number("memory.max")?, number("memory.current")?),
            Version::One => (
                number("memory.limit_in_bytes").filter(|limit| *limit < NO_LIMIT)?,
                number("memory.usage_in_bytes")?,
            ),
        };
        let stat = text("memory.stat").unwrap_or_default();
        let key = if self.version == Version::One { "total_inactive_file " } else { "inactive_file " };
        let cache = stat.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
        Some(MemoryLimit { limit, used: used.saturating_sub(cache.unwrap_or(0)) })
    }
}

/// Version 1 has no word for "no limit", but a number near the largest.
const NO_LIMIT: u64 = 1 << 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_within_its_bounds_whatever_is_known() {
        for pid in [std::process::id(), 0, u32::MAX] {
            let room = u64::from(spare_room(pid));
            assert!((LEAST..=MOST).contains(&room), "{room}");
        }
        assert_eq!(available("MemTotal: 1 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(available("nonsense"), None);
    }

    #[test]
    fn a_group_is_found_with_all_around_it() {
        let folders = |text: &str| -> Vec<String> {
            groups(text).iter().map(|group| group.folder.display().to_string()).collect()
        };
        assert_eq!(folders("0::/a/b\n"), ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup/"]);
        assert_eq!(folders("0::/\n"), ["/sys/fs/cgroup/"]);
        assert_eq!(
            folders("5:cpu:/x\n4:memory:/pod\n"),
            ["/sys/fs/cgroup/memory/pod", "/sys/fs/cgroup/memory/"]
        );
        assert_eq!(folders("0::/../other"), ["/sys/fs/cgroup/"]);
        assert_eq!(folders("nonsense\n::"), Vec::<String>::new());
    }
}
