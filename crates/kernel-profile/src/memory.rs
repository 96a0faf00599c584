//! Reading a little of a target's memory.

use std::fs::File;
use std::os::unix::fs::FileExt;

use model::ProcessId;

/// The memory of a process, when this user may read it.
pub(crate) struct Memory {
    file: Option<File>,
}

impl Memory {
    pub(crate) fn of(pid: ProcessId) -> Memory {
        Memory { file: File::open(format!("/proc/{pid}/mem")).ok() }
    }

    /// Whether this user may read it.
    pub(crate) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// At most this many bytes from an address on; fewer if they are not there.
    pub(crate) fn read(&self, address: u64, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let read = self.file.as_ref().and_then(|file| file.read_at(&mut bytes, address).ok()).unwrap_or(0);
        bytes.truncate(read);
        bytes
    }
}
