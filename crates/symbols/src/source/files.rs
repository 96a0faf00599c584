//! Opening what lies in the target's file system.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::MAX_PDB_BYTES;
use crate::SymbolError;

/// A file system that is seen through a folder, `/proc/PID/root` for example, or our own.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    pub(super) root: Option<PathBuf>,
}

impl Files {
    /// Opens a regular file by its path in the target.
    pub(super) fn open(&self, path: &str) -> io::Result<File> {
        let file = match &self.root {
            None => open_plainly(Path::new(path))?,
            Some(root) => open_below(root, path)?,
        };
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
        }
    }

    /// The whole file, if there is one.
    pub(super) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, SymbolError> {
        let unreadable = |source| SymbolError::Unreadable { path: path.into(), source };
        let file = match self.open(path) {
            Ok(file) => file,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        let bytes = file.metadata().map_err(unreadable)?.len();
        if bytes > MAX_PDB_BYTES {
            return Err(SymbolError::TooBig { what: "the symbol file", bytes, limit: MAX_PDB_BYTES });
        }
        let mut content = Vec::new();
        file.take(MAX_PDB_BYTES).read_to_end(&mut content).map_err(unreadable)?;
        Ok(Some(content))
    }
}

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A named pipe in the place of a file must not hold us.
fn open_plainly(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Links of the target, absolute ones too, stay in its root.
#[cfg(target_os = "linux")]
fn open_below(root: &Path, path: &str) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
    let root = open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(openat2(&root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)?))
}

#[cfg(not(target_os = "linux"))]
fn open_below(root: &Path, path: &str) -> io::Result<File> {
    open_plainly(&root.join(path.trim_start_matches('/')))
}
