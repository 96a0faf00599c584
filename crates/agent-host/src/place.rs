//! Puts the library where the target can load it, and takes it away again.
//!
//! Several hosts may do so at once, in the same folder, and any of them may be killed at any time. A lock that the kernel
//! frees tells who still needs the file: everybody who does holds it shared, and it is removed by whoever gets it alone.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::fs::{
    AtFlags, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, flock, openat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::AgentError;
use crate::folder::Folder;

/// Who may do what with the file: its owner may read and run it.
const MODE: Mode = Mode::RUSR.union(Mode::XUSR);
/// How often we begin anew when others make and remove the same file.
const ATTEMPTS: u32 = 20;
const WHAT: &str = "the agent's library";

/// The library in the target's folder. Dropped, it is removed, unless somebody else needs it.
pub(crate) struct Placed<'a> {
    folder: &'a Folder,
    name: &'a str,
    /// Open, with a shared lock on it.
    file: File,
}

/// What a file of our name turned out to be.
enum Found {
    Ours(File),
    Nothing,
    /// It went away while we looked, or is about to.
    Going,
    /// Its owner is trusted, but it is not what it should be.
    Spoilt,
}

impl<'a> Placed<'a> {
    /// Finds the file with exactly these bytes, or makes it.
    pub(crate) fn new(folder: &'a Folder, name: &'a str, bytes: &[u8]) -> Result<Placed<'a>, AgentError> {
        let failed = folder.unwritable(WHAT);
        for _ in 0..ATTEMPTS {
            match find(folder, name, bytes)? {
                Found::Ours(file) => return Ok(Placed { folder, name, file }),
                Found::Going => std::thread::yield_now(),
                Found::Nothing => make(folder, name, bytes, RenameFlags::NOREPLACE).map_err(&failed)?,
                // A new file in its place: whoever has the old one mapped keeps it as it is.
                Found::Spoilt => make(folder, name, bytes, RenameFlags::empty()).map_err(&failed)?,
            }
        }
        Err(failed(io::Error::from(io::ErrorKind::ResourceBusy)))
    }

    /// The file, as the target sees it.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path.join(self.name)
    }
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        let alone = flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if alone && is_linked(self.folder, self.name, &self.file) {
            let _ = unlinkat(&self.folder.opened, self.name, AtFlags::empty());
        }
    }
}

fn find(folder: &Folder, name: &str, bytes: &[u8]) -> Result<Found, AgentError> {
    let failed = folder.unwritable(WHAT);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match openat(&folder.opened, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(Found::Nothing),
        // A link of our name, or a file that we may not read: look whose it is.
        Err(Errno::LOOP | Errno::ACCESS | Errno::PERM) => {
            let found = statat(&folder.opened, name, AtFlags::SYMLINK_NOFOLLOW);
            let Ok(found) = found else { return Ok(Found::Going) };
            return Err(AgentError::Planted { path: folder.path.join(name), owner: found.st_uid });
        }
        Err(errno) => return Err(failed(errno.into())),
    };
    let about = file.metadata().map_err(&failed)?;
    if about.uid() != folder.owner && about.uid() != geteuid().as_raw() {
        return Err(AgentError::Planted { path: folder.path.join(name), owner: about.uid() });
    }
    if flock(&file, FlockOperation::NonBlockingLockShared).is_err() || !is_linked(folder, name, &file) {
        return Ok(Found::Going);
    }
    let private = about.is_file() && about.mode() & 0o022 == 0 && about.uid() == folder.owner;
    if private && has_exactly(&file, bytes) { Ok(Found::Ours(file)) } else { Ok(Found::Spoilt) }
}

fn has_exactly(file: &File, bytes: &[u8]) -> bool {
    let mut found = Vec::with_capacity(bytes.len() + 1);
    let most = bytes.len() as u64 + 1;
    file.take(most).read_to_end(&mut found).is_ok() && found == bytes
}

/// Whether the name still leads to this very file.
fn is_linked(folder: &Folder, name: &str, file: &File) -> bool {
    let (Ok(here), Ok(about)) = (statat(&folder.opened, name, AtFlags::SYMLINK_NOFOLLOW), file.metadata())
    else {
        return false;
    };
    (here.st_dev, here.st_ino) == (about.dev(), about.ino())
}

/// Makes the file whole under another name, then gives it its own. That somebody else was quicker is no error.
fn make(folder: &Folder, name: &str, bytes: &[u8], how: RenameFlags) -> io::Result<()> {
    let draft = format!("{name}.{}-{}", std::process::id(), fresh());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(&folder.opened, &draft, flags, Mode::RUSR)?);
    let made = (|| {
        file.write_all(bytes)?;
        if geteuid().as_raw() != folder.owner {
            fchown(&file, Some(Uid::from_raw(folder.owner)), None::<Gid>)?;
        }
        fchmod(&file, MODE)?;
        match renameat_with(&folder.opened, &draft, &folder.opened, name, how) {
            // A file system that knows no such condition; the worst is a second file of the same content.
            Err(Errno::INVAL | Errno::NOSYS) => {
                renameat_with(&folder.opened, &draft, &folder.opened, name, RenameFlags::empty())?;
            }
            other => other?,
        }
        Ok(())
    })();
    match made {
        Ok(()) => Ok(()),
        Err(error) => {
            let _ = unlinkat(&folder.opened, &draft, AtFlags::empty());
            let error: io::Error = error;
            if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
        }
    }
}

/// A number that no other draft of this process has.
fn fresh() -> u32 {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
