//! Whether tests left something behind: processes, sockets, folders.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable by which processes of the suite are known; all that tests start inherit it.
pub const MARK: &str = "DRDOTNET_SUITE";

/// Folders that everybody writes to, and where nothing of ours may stay.
const COMMON: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/sys/fs/cgroup"];
/// How names of ours begin, and of those that a .NET runtime makes.
const OURS: [&str; 5] = ["drdotnet", "dotnet-diagnostic-", "clr-debug-pipe-", "perf-", ".tmp"];

/// What was there before the tests.
pub struct Before {
    files: BTreeSet<PathBuf>,
}

impl Before {
    /// Looks around; `own` is the folder of the suite itself.
    pub fn look(own: &Path) -> Before {
        Before { files: files(own) }
    }

    /// What is there now and was not before, a line each.
    pub fn left_behind(&self, own: &Path) -> Vec<String> {
        let mark = format!("{MARK}={}", own.display());
        let mut left: Vec<String> = processes(mark.as_bytes());
        let is_left = |path: &&PathBuf| !self.files.contains(*path) && !belongs_to_a_living(path);
        left.extend(files(own).iter().filter(is_left).map(|path| path.display().to_string()));
        left
    }
}

/// Files and folders with names of ours in common places, and the sessions of the user.
fn files(own: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut groups: Vec<PathBuf> = fs::read_dir("/sys/fs/cgroup")
        .map(|entries| entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
        .unwrap_or_default();
    groups.extend(COMMON.map(PathBuf::from));
    for folder in groups {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // What is prepared for targets of other users is kept on purpose, like the cache.
            let is_kept = name.starts_with("drdotnet-testbed-");
            if !is_kept && entry.path() != own && OURS.iter().any(|start| name.starts_with(start)) {
                found.insert(entry.path());
            }
        }
    }
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")));
    if let Some(entries) = state.and_then(|state| fs::read_dir(state.join("drdotnet/sessions")).ok()) {
        found.extend(entries.flatten().map(|entry| entry.path()));
    }
    found
}

/// Whether a file is named after a process that is there: then it is that of somebody else's program.
fn belongs_to_a_living(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut numbers = name.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    numbers.next().is_some_and(|pid| Path::new("/proc").join(pid).exists())
}

/// Processes whose environment has the mark.
fn processes(mark: &[u8]) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|line| line == mark) {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            found.push(format!("process {} {}", entry.file_name().to_string_lossy(), words.trim_end()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_and_a_file_that_stay_are_seen() {
        let own = tempfile::tempdir().unwrap();
        let before = Before::look(own.path());
        assert!(!before.left_behind(own.path()).iter().any(|line| line.starts_with("process")));
        let mut child = Command::new("cat");
        child.env(MARK, own.path()).stdin(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let file = PathBuf::from("/var/tmp").join(format!("drdotnet-test-{}-x", child.id()));
        fs::write(&file, "").unwrap();
        let left = before.left_behind(own.path());
        assert!(left.iter().any(|line| line == &format!("process {} cat", child.id())), "{left:?}");
        let is_file = |line: &String| line == file.to_str().unwrap();
        assert!(!left.iter().any(is_file), "it belongs to a living process: {left:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        let left = before.left_behind(own.path());
        fs::remove_file(&file).unwrap();
        assert!(left.iter().any(is_file), "{left:?}");
        assert!(!left.iter().any(|line| line.starts_with("process")), "{left:?}");
    }
}
