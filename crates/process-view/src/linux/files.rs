//! Files as a process sees them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use super::Process;

impl Process {
    /// Opens an ordinary file of the process's file system to read it. Links are followed in *its* file system: an
    /// absolute one would otherwise lead into ours.
    pub fn open_file(&self, path: &Path) -> io::Result<File> {
        let root = File::open(self.root())?;
        let inside = path.strip_prefix("/").unwrap_or(path);
        // A pipe that somebody put there must not hold us.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(openat2(&root, inside, flags, Mode::empty(), ResolveFlags::IN_ROOT)?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an ordinary file"));
        }
        Ok(file)
    }

    /// The bytes of an ordinary file of the process's file system, if it has no more than `most`.
    pub fn read_file(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let file = self.open_file(path)?;
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than expected"));
        }
        Ok(bytes)
    }
}
