//! What the control group of the process allows it, and what it has used of that.

use std::fs;
use std::path::{Path, PathBuf};

use judgement::signs::Container;
use model::ProcessId;

/// Version 1 says "no limit" by a number of this size or more.
const NO_LIMIT: u64 = 1 << 60;

/// Looks.
pub fn of(pid: ProcessId) -> Container {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    Groups::of(&text).0
}

/// Limits of control groups, in the making.
#[derive(Default)]
struct Groups(Container);

impl Groups {
    /// By what `/proc/PID/cgroup` says.
    fn of(text: &str) -> Groups {
        let mut found = Groups::default();
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
        self.0.is_known |= !folders.is_empty();
        for folder in folders {
            let limit = number(&folder.join("memory.max"));
            if limit.is_some() && limit < self.0.memory_limit.or(Some(u64::MAX)) {
                self.0.memory_limit = limit;
                let used = number(&folder.join("memory.current"));
                let cache = field(&folder.join("memory.stat"), "inactive_file").unwrap_or(0);
                self.0.memory_used = used.map(|used| used.saturating_sub(cache));
            }
            let quota = fs::read_to_string(folder.join("cpu.max")).ok().and_then(|text| quota(&text));
            if quota.is_some_and(|quota| self.0.processors.is_none_or(|known| quota < known)) {
                self.0.processors = quota;
                self.0.periods = field(&folder.join("cpu.stat"), "nr_periods").unwrap_or(0);
                self.0.throttled = field(&folder.join("cpu.stat"), "nr_throttled").unwrap_or(0);
            }
        }
        if let Some(own) = folders.first() {
            self.0.killed = field(&own.join("memory.events"), "oom_kill").unwrap_or(0);
        }
    }

    fn read_v1(&mut self, controller: &str, folders: &[PathBuf]) {
        self.0.is_known |= !folders.is_empty();
        for folder in folders {
            match controller {
                "memory" => {
                    let limit =
                        number(&folder.join("memory.limit_in_bytes")).filter(|limit| *limit < NO_LIMIT);
                    if limit.is_some() && limit < self.0.memory_limit.or(Some(u64::MAX)) {
                        self.0.memory_limit = limit;
                        let used = number(&folder.join("memory.usage_in_bytes"));
                        let cache = field(&folder.join("memory.stat"), "total_inactive_file").unwrap_or(0);
                        self.0.memory_used = used.map(|used| used.saturating_sub(cache));
                        self.0.killed = field(&folder.join("memory.oom_control"), "oom_kill").unwrap_or(0);
                    }
                }
                "cpu" => {
                    let quota = number(&folder.join("cpu.cfs_quota_us"));
                    let period = number(&folder.join("cpu.cfs_period_us")).filter(|period| *period > 0);
                    let quota = quota.zip(period).map(|(quota, period)| quota as f64 / period as f64);
                    if quota.is_some_and(|quota| self.0.processors.is_none_or(|known| quota < known)) {
                        self.0.processors = quota;
                        self.0.periods = field(&folder.join("cpu.stat"), "nr_periods").unwrap_or(0);
                        self.0.throttled = field(&folder.join("cpu.stat"), "nr_throttled").unwrap_or(0);
                    }
                }
                _ => {}
            }
        }
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
        let mut found = Groups::default();
        found.read_v1("cpu", &folders(groups.path(), "/pod/container"));
        assert_eq!((found.0.processors, found.0.periods), (Some(0.5), 70));
    }
}
