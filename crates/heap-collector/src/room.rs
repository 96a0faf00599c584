//! How much memory the target can spare for events.

use std::fs;

/// Least and most room that is asked for, in megabytes. Other tools always ask for the most.
const LEAST: u64 = 64;
const MOST: u64 = 1024;

/// Room for events in a process, in megabytes: a quarter of what its machine and its cgroup have left. It is taken only
/// as far as events come faster than they are read.
#[must_use]
pub fn spare_room(pid: u32) -> u32 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    let left = [machine, cgroup_left(pid)].into_iter().flatten().min().unwrap_or(0);
    u32::try_from(((left / 4) >> 20).clamp(LEAST, MOST)).unwrap_or(u32::MAX)
}

/// `MemAvailable` in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What the nearest limit of its control group (version 2) leaves.
fn cgroup_left(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let number = |file: String| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let mut group = path;
    loop {
        let folder = format!("/sys/fs/cgroup/{group}");
        // "max" is no number: the limit may be further up.
        if let (Some(limit), Some(used)) =
            (number(format!("{folder}/memory.max")), number(format!("{folder}/memory.current")))
        {
            return Some(limit.saturating_sub(used));
        }
        group = group.rsplit_once('/').map(|(above, _)| above).filter(|above| !above.is_empty())?;
    }
}

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
}
