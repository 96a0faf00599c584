//! One process of /proc, looked at fact by fact.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use model::{ProcessId, ThreadId};

use super::elf::{ELF_HEAD, architecture_of_elf};
use super::stat::Stat;
use super::status::Status;
use super::{Task, cgroup};
use crate::ViewError;

/// Most that is read of one file. A process can make the kernel show any of its memory as its environment.
const LONGEST_TEXT: u64 = 4 << 20;

/// Every process that /proc shows now.
pub fn process_ids() -> Result<Vec<ProcessId>, ViewError> {
    let entries = fs::read_dir("/proc").map_err(|source| ViewError::Io { path: "/proc".into(), source })?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// One process. Making one costs nothing and asks nothing; each method looks once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// Its id.
    pub id: ProcessId,
}

impl Process {
    /// The process with this id, whether it exists or not.
    #[must_use]
    pub fn new(id: ProcessId) -> Self {
        Process { id }
    }

    /// The process that asks.
    #[must_use]
    pub fn this() -> Self {
        Process { id: ProcessId(std::process::id()) }
    }

    /// Whether /proc shows it. A zombie does not count: there is nothing left to look at.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.stat().is_ok_and(|stat| !matches!(stat.state, super::TaskState::Zombie | super::TaskState::Dead))
    }

    /// Its `stat` line.
    pub fn stat(&self) -> Result<Stat, ViewError> {
        let path = self.path("stat");
        Stat::parse(&read_line(self.id, &path)?).ok_or(ViewError::Malformed { path, field: "process state" })
    }

    /// Its `status` text.
    pub fn status(&self) -> Result<Status, ViewError> {
        let path = self.path("status");
        Status::parse(&read_text(self.id, &path)?).ok_or(ViewError::Malformed { path, field: "user" })
    }

    /// Its arguments; empty for kernel threads.
    pub fn arguments(&self) -> Result<Vec<String>, ViewError> {
        let bytes = read_bytes(self.id, &self.path("cmdline"))?;
        Ok(strings_between_nuls(&bytes))
    }

    /// Its environment as it was at the start, `NAME=value` each.
    pub fn environment(&self) -> Result<Vec<(String, String)>, ViewError> {
        let bytes = read_bytes(self.id, &self.path("environ"))?;
        Ok(strings_between_nuls(&bytes)
            .into_iter()
            .filter_map(|entry| {
                entry.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
            })
            .collect())
    }

    /// The short id of the container it runs in, when its control group names one.
    #[must_use]
    pub fn container(&self) -> Option<String> {
        cgroup::container_in_cgroup(&read_text(self.id, &self.path("cgroup")).ok()?)
    }

    /// Architecture of the file it runs.
    #[must_use]
    pub fn architecture(&self) -> Option<&'static str> {
        let mut head = [0; ELF_HEAD];
        fs::File::open(self.path("exe")).ok()?.read_exact(&mut head).ok()?;
        architecture_of_elf(&head)
    }

    /// The folder it works in, as it would say it itself.
    #[must_use]
    pub fn working_folder(&self) -> Option<PathBuf> {
        fs::read_link(self.path("cwd")).ok()
    }

    /// Its view of the file system: opening below this folder sees what the process sees.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        PathBuf::from(self.path("root"))
    }

    /// Whether a file of its file system can be run: `None` when it is not there.
    #[must_use]
    pub fn is_runnable(&self, file: &std::path::Path) -> Option<bool> {
        let inside = self.root().join(file.strip_prefix("/").unwrap_or(file));
        fs::metadata(inside).ok().map(|found| found.is_file() && found.mode() & 0o111 != 0)
    }

    /// Whether it sees the same file system as we do: same mount namespace, same root folder. `None` when this
    /// user may not know.
    #[must_use]
    pub fn shares_file_system(&self) -> Option<bool> {
        let same = |file: &str| -> Option<bool> {
            let theirs = fs::metadata(self.path(file)).ok()?;
            let ours = fs::metadata(format!("/proc/self/{file}")).ok()?;
            Some((theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino()))
        };
        Some(same("ns/mnt")? && same("root")?)
    }

    /// Number of its pid namespace.
    #[must_use]
    pub fn pid_namespace(&self) -> Option<u64> {
        fs::metadata(self.path("ns/pid")).ok().map(|namespace| namespace.ino())
    }

    /// Its threads, by id.
    pub fn tasks(&self) -> Result<Vec<Task>, ViewError> {
        let path = self.path("task");
        let entries = fs::read_dir(&path).map_err(|error| ViewError::from_io(self.id, path, error))?;
        let mut tasks: Vec<Task> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .map(|id: ThreadId| Task { process: self.id, id })
            .collect();
        tasks.sort_unstable();
        Ok(tasks)
    }

    /// The largest resident memory it ever had, in bytes.
    #[must_use]
    pub fn peak_memory(&self) -> Option<u64> {
        self.status().ok()?.peak_resident_bytes
    }

    pub(crate) fn path(&self, file: &str) -> String {
        format!("/proc/{}/{file}", self.id)
    }
}

pub(crate) fn read_bytes(pid: ProcessId, path: &str) -> Result<Vec<u8>, ViewError> {
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(LONGEST_TEXT).read_to_end(&mut bytes))
        .map_err(|error| ViewError::from_io(pid, path, error))?;
    Ok(bytes)
}

/// One line of the kernel's, read with one call: of a thousand threads, each call counts.
pub(crate) fn read_line(pid: ProcessId, path: &str) -> Result<String, ViewError> {
    let mut buffer = [0; 1024];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut buffer));
    let length = read.map_err(|error| ViewError::from_io(pid, path, error))?;
    if length == buffer.len() {
        return read_text(pid, path);
    }
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

pub(crate) fn read_text(pid: ProcessId, path: &str) -> Result<String, ViewError> {
    read_bytes(pid, path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn strings_between_nuls(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|&byte| byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen() {
        let me = Process::this();
        assert!(process_ids().unwrap().contains(&me.id));
        assert!(me.is_alive());
        assert!(!me.arguments().unwrap().is_empty());
        assert!(me.environment().unwrap().iter().any(|(name, _)| name == "PATH"));
        assert_eq!(me.shares_file_system(), Some(true));
        assert_eq!(me.status().unwrap().ids.pids.first(), Some(&me.id.0));
        assert!(me.status().unwrap().resident_bytes.unwrap() > 0);
        assert!(!me.tasks().unwrap().is_empty());
        assert!(me.architecture().is_some());
    }

    #[test]
    fn a_pid_beyond_the_largest_has_vanished() {
        let nobody = Process::new(ProcessId(u32::MAX));
        assert!(matches!(nobody.stat(), Err(ViewError::Vanished { .. })));
        assert!(matches!(nobody.environment(), Err(ViewError::Vanished { .. })));
        assert!(!nobody.is_alive());
    }

    #[test]
    fn arguments_keep_empty_ones() {
        assert_eq!(strings_between_nuls(b"a\0\0b\0"), ["a", "", "b"]);
        assert!(strings_between_nuls(b"").is_empty());
    }
}
