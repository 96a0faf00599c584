//! What the control group of the process allows it, and what it has used of that.

use std::fs;
use std::path::{Path, PathBuf};

use model::ProcessId;

/// Version 1 says "no limit" by a number of this size or more.
const NO_LIMIT: u64 = 1 << 60;

/// Limits of a control group at one moment. All of it is unknown where there is no such group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Container {
    /// Whether its group could be looked at.
    pub is_known: bool,
    /// Memory that it may use, in bytes; the tightest of it and the groups around it.
    pub memory_limit: Option<u64>,
    /// Memory in use, in bytes, without the file cache that can be given up at once.
    pub memory_used: Option<u64>,
    /// Processors it may use, when that is limited.
    pub processors: Option<f64>,
    /// Periods in which processors were given out.
    pub periods: u64,
    /// Periods in which it was stopped because it had used up its share.
    pub throttled: u64,
    /// Processes of the group that the kernel has killed for lack of memory.
    pub killed: u64,
}

impl Container {
    /// Looks.
    #[must_use]
    pub fn of(pid: ProcessId) -> Container {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let mut found = Container::default();
        if let Some(path) = text.lines().find_map(|line| line.strip_prefix("0::")) {
            found.read_v2(&folders(Path::new("/sys/fs/cgroup"), path));
        }
        for line in text.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            for controller in controllers.split(',').filter(|name| !name.is_empty()) {
                let root = Path::new("/sys/fs/cgroup").join(controller);
                found.read_v1(controller, &folders(&root, path));
            }
        }
        found
    }

    fn read_v2(&mut self, folders: &[PathBuf]) {
        self.is_known |= !folders.is_empty();
        for folder in folders {
            let limit = number(&folder.join("memory.max"));
            if limit.is_some() && limit < self.memory_limit.or(Some(u64::MAX)) {
                self.memory_limit = limit;
                let used = number(&folder.join("memory.current"));
                let cache = field(&folder.join("memory.stat"), "inactive_file").unwrap_or(0);
                self.memory_used = used.map(|used| used.saturating_sub(cache));
            }
            let quota = fs::read_to_string(folder.join("cpu.max")).ok().and_then(|text| quota(&text));
            if quota.is_some_and(|quota| self.processors.is_none_or(|known| quota < known)) {
                self.processors = quota;
                self.periods = field(&folder.join("cpu.stat"), "nr_periods").unwrap_or(0);
                self.throttled = field(&folder.join("cpu.stat"), "nr_throttled").unwrap_or(0);
            }
        }
        if let Some(own) = folders.first() {
            self.killed = field(&own.join("memory.events"), "oom_kill").unwrap_or(0);
        }
    }

    fn read_v1(&mut self, controller: &str, folders: &[PathBuf]) {
        self.is_known |= !folders.is_empty();
        for folder in folders {
            match controller {
                "memory" => {
                    let limit =
                        number(&folder.join("memory.limit_in_bytes")).filter(|limit| *limit < NO_LIMIT);
                    if limit.is_some() && limit < self.memory_limit.or(Some(u64::MAX)) {
                        self.memory_limit = limit;
                        let used = number(&folder.join("memory.usage_in_bytes"));
                        let cache = field(&folder.join("memory.stat"), "total_inactive_file").unwrap_or(0);
                        self.memory_used = used.map(|used| used.saturating_sub(cache));
                        self.killed = field(&folder.join("memory.oom_control"), "oom_kill").unwrap_or(0);
                    }
                }
                "cpu" => {
                    let quota = number(&folder.join("cpu.cfs_quota_us"));
                    let period = number(&folder.join("cpu.cfs_period_us")).filter(|period| *period > 0);
                    let quota = quota.zip(period).map(|(quota, period)| quota as f64 / period as f64);
                    if quota.is_some_and(|quota| self.processors.is_none_or(|known| quota < known)) {
                        self.processors = quota;
                        self.periods = field(&folder.join("cpu.stat"), "nr_periods").unwrap_or(0);
                        self.throttled = field(&folder.join("cpu.stat"), "nr_throttled").unwrap_or(0);
                    }
                }
                _ => {}
            }
        }
    }

    /// Of the periods since an earlier look, those in which it was stopped, in per cent.
    #[must_use]
    pub fn throttled_percent_since(&self, before: &Container) -> Option<f64> {
        let periods = self.periods.checked_sub(before.periods).filter(|periods| *periods > 0)?;
        Some(self.throttled.saturating_sub(before.throttled) as f64 / periods as f64 * 100.0)
    }
}

/// The group's folder and those around it, innermost first. A path that leads out of our view is none.
fn folders(root: &Path, path: &str) -> Vec<PathBuf> {
    let path = path.trim_start_matches('/');
    if path.split('/').any(|part| part == "..") {
        return Vec::new();
    }
    let mut folders: Vec<PathBuf> = Path::new(path).ancestors().map(|part| root.join(part)).collect();
    folders.retain(|folder| folder.is_dir());
    folders
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The value of a line `name value`.
fn field(file: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// `200000 100000` is two processors; `max 100000` is no limit.
fn quota(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    let (quota, period): (u32, u32) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (period > 0).then(|| f64::from(quota) / f64::from(period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_processors() {
        assert_eq!(quota("150000 100000\n"), Some(1.5));
        assert_eq!(quota("max 100000\n"), None);
        assert_eq!(quota("1 0"), None);
    }

    #[test]
    fn paths_that_lead_out_are_not_followed() {
        assert!(folders(Path::new("/sys"), "/../../etc").is_empty());
        assert_eq!(
            folders(Path::new("/"), "/proc/self"),
            [Path::new("/proc/self"), Path::new("/proc"), Path::new("/")]
        );
    }

    #[test]
    fn the_tightest_group_counts() {
        let groups = tempfile::tempdir().unwrap();
        let inner = groups.path().join("pod/container");
        fs::create_dir_all(&inner).unwrap();
        let write = |folder: &Path, quota: &str, periods: &str| {
            fs::write(folder.join("cpu.cfs_quota_us"), quota).unwrap();
            fs::write(folder.join("cpu.cfs_period_us"), "100000").unwrap();
            fs::write(folder.join("cpu.stat"), format!("nr_periods {periods}\nnr_throttled 3\n")).unwrap();
        };
        write(&inner, "50000", "70");
        write(&groups.path().join("pod"), "400000", "90");
        write(groups.path(), "-1", "0");
        let mut found = Container::default();
        found.read_v1("cpu", &folders(groups.path(), "/pod/container"));
        assert_eq!((found.processors, found.periods), (Some(0.5), 70));
    }

    #[test]
    fn throttling_is_a_share_of_the_periods_since() {
        let before = Container { periods: 100, throttled: 10, ..Container::default() };
        let after = Container { periods: 140, throttled: 20, ..Container::default() };
        assert_eq!(after.throttled_percent_since(&before), Some(25.0));
        assert_eq!(before.throttled_percent_since(&before), None);
    }
}
