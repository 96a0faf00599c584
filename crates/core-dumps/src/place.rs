//! Where a dump will be: in the file system of the target, which need not be ours.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use process_view::Process;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat, openat2, statat, unlinkat};

use crate::error::DumpError;

/// Where a dump will be.
#[derive(Clone, Debug)]
pub struct Place {
    /// The path as the target sees it: absolute.
    pub path: PathBuf,
    /// Whether that is the same file for us.
    pub is_ours: bool,
    process: Process,
}

impl Place {
    /// From what was typed. A relative path counts from our folder when the target sees the same files, and from its
    /// own folder if not. A folder gets the default name below it; without a path, the dump goes to our folder, or to
    /// `/tmp` of a target that does not see ours.
    pub fn new(process: &Process, typed: Option<&Path>, default_name: &str) -> Result<Place, DumpError> {
        let is_ours = process.shares_file_system().unwrap_or(true);
        let here = || if is_ours { std::env::current_dir().ok() } else { process.working_folder() };
        let path = match typed {
            None if is_ours => here().unwrap_or_default().join(default_name),
            None => Path::new("/tmp").join(default_name),
            Some(path) => here().unwrap_or_default().join(path),
        };
        let means_a_folder = typed.is_some_and(|path| path.as_os_str().as_bytes().ends_with(b"/"));
        let mut place = Place { path: tidy(&path), is_ours, process: *process };
        if typed.is_some() && place.open_folder(&place.path.clone()).is_ok() {
            place.path.push(default_name);
        } else if means_a_folder {
            return Err(DumpError::NoFolder(place.path));
        }
        let bad = |problem| Err(DumpError::BadPath(place.path.clone(), problem));
        match place.path.to_str() {
            None => bad("it is not UTF-8"),
            // The runtime would put something else there.
            Some(text) if text.contains('%') => bad("runtimes replace what follows a '%'"),
            Some(_) if !place.path.is_absolute() => {
                bad("it is not absolute, and the folder it counts from is not known")
            }
            Some(_) => Ok(place),
        }
    }

    /// The path under which we see it.
    #[must_use]
    pub fn seen_from_here(&self) -> PathBuf {
        if self.is_ours {
            return self.path.clone();
        }
        self.process.root().join(self.path.strip_prefix("/").unwrap_or(&self.path))
    }

    /// The folder, as the target sees it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Opens a folder of the target.
    pub(crate) fn open_folder(&self, folder: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if self.is_ours {
            return Ok(rustix::fs::open(folder, flags, Mode::empty()).map(File::from)?);
        }
        // Links are followed in the target's file system.
        let root = File::open(self.process.root())?;
        let inside = folder.strip_prefix("/").unwrap_or(folder);
        let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
        Ok(openat2(&root, inside, flags, Mode::empty(), ResolveFlags::IN_ROOT).map(File::from)?)
    }

    /// What is at the place now.
    pub(crate) fn stat(&self, name: &Path) -> Option<Stat> {
        let folder = self.open_folder(self.folder()).ok()?;
        statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    /// How many bytes the dump has by now; none when it is not there.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        u64::try_from(self.stat(self.path.file_name()?.as_ref())?.st_size).ok()
    }

    /// Removes what a failed attempt left.
    pub(crate) fn clean(&self) {
        if let (Ok(folder), Some(name)) = (self.open_folder(self.folder()), self.path.file_name()) {
            let _ = unlinkat(&folder, name, AtFlags::empty());
        }
    }
}

/// Without `.` and `..`, which would mean something else behind a link.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(tidy.pop()),
            Component::CurDir => {}
            other => tidy.push(other),
        }
    }
    tidy
}
