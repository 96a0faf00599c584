//! A folder of the target's file system, for the library and the socket.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use process_view::Process;
use rustix::fs::{Mode, OFlags, ResolveFlags, StatVfsMountFlags, fstatvfs, openat2};
use rustix::io::Errno;

use crate::AgentError;

/// Where a process keeps temporary files unless it is told otherwise.
const DEFAULT: &str = "/tmp";

/// An open folder of the target.
pub(crate) struct Folder {
    /// The folder; for names in it only.
    pub(crate) opened: File,
    /// The folder as the target sees it.
    pub(crate) path: PathBuf,
    /// The target's user, who is to own what is put there.
    pub(crate) owner: u32,
}

impl Folder {
    /// The folder of this name, else the temp folder of the process.
    pub(crate) fn of(process: &Process, named: Option<&Path>) -> Result<Folder, AgentError> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => temp_folder(process)?,
        };
        let owner = process.status()?.user;
        let no_folder = |source| AgentError::NoFolder { folder: path.clone(), source };
        let root = File::open(process.root()).map_err(no_folder)?;
        let inside = path.strip_prefix("/").unwrap_or(&path);
        let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
        // Links are followed in the target's file system: an absolute one would otherwise lead into ours.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat2(&root, inside, flags, Mode::empty(), ResolveFlags::IN_ROOT)
            .map_err(|errno| no_folder(errno.into()))?;
        let mount = fstatvfs(&opened).map_err(|errno| no_folder(errno.into()))?.f_flag;
        if mount.contains(StatVfsMountFlags::NOEXEC) {
            return Err(AgentError::NoExec { folder: path });
        }
        if mount.contains(StatVfsMountFlags::RDONLY) {
            return Err(AgentError::ReadOnly { folder: path });
        }
        Ok(Folder { opened: File::from(opened), path, owner })
    }

    /// A path of a few bytes to a file in the folder, whatever the folder's own path.
    pub(crate) fn short_path(&self, name: impl AsRef<Path>) -> PathBuf {
        Path::new("/proc/self/fd").join(self.opened.as_raw_fd().to_string()).join(name)
    }

    /// The error for something that could not be put here.
    pub(crate) fn unwritable(&self, what: &'static str) -> impl Fn(io::Error) -> AgentError {
        let folder = self.path.clone();
        move |source| match Errno::from_io_error(&source) {
            Some(Errno::ROFS) => AgentError::ReadOnly { folder: folder.clone() },
            _ => AgentError::Unwritable { what, folder: folder.clone(), source },
        }
    }
}

/// The folder for temporary files of a process, as the process would say it.
fn temp_folder(process: &Process) -> Result<PathBuf, AgentError> {
    let environment = process.environment()?;
    let set = environment.iter().find(|(name, value)| name == "TMPDIR" && !value.is_empty());
    let folder = PathBuf::from(set.map_or(DEFAULT, |(_, value)| value.as_str()));
    // A relative one counts from where the process is.
    Ok(match process.working_folder() {
        Some(from) if folder.is_relative() => from.join(folder),
        _ => folder,
    })
}
