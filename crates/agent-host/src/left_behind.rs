//! What hosts that were killed have left in a folder.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FlockOperation, OFlags, flock, unlinkat};
use rustix::process::geteuid;

use crate::folder::Folder;

/// How the names of our sockets begin and end.
pub(crate) const SOCKET_PREFIX: &str = "drdotnet-";
pub(crate) const SOCKET_SUFFIX: &str = ".sock";
/// How the names of all our libraries begin, of drafts and other builds too.
pub(crate) const LIBRARY_PREFIX: &str = "drdotnet-agent-";
/// What is younger may be in the making: a socket that is about to listen, a library that is about to be locked.
const YOUNG: Duration = Duration::from_secs(60);

/// Removes sockets at which nobody listens, and libraries that nobody is about to load. To remove one that is mapped
/// does no harm.
pub(crate) fn remove(folder: &Folder) {
    let Ok(entries) = fs::read_dir(folder.short_path(".")) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(text) = name.to_str().filter(|text| text.starts_with(SOCKET_PREFIX)) else { continue };
        let path = folder.short_path(text);
        let Ok(about) = fs::symlink_metadata(&path) else { continue };
        let ours = about.uid() == folder.owner || about.uid() == geteuid().as_raw();
        if !ours || is_young(&about) {
            continue;
        }
        let unused = if text.ends_with(SOCKET_SUFFIX) {
            about.file_type().is_socket() && nobody_listens(&path)
        } else {
            text.starts_with(LIBRARY_PREFIX) && about.is_file() && nobody_holds(&path)
        };
        if unused {
            let _ = unlinkat(&folder.opened, text, AtFlags::empty());
        }
    }
}

fn is_young(about: &Metadata) -> bool {
    let age = about.modified().ok().and_then(|then| SystemTime::now().duration_since(then).ok());
    age.is_none_or(|age| age < YOUNG)
}

fn nobody_listens(path: &Path) -> bool {
    UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn nobody_holds(path: &Path) -> bool {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let opened = File::options().read(true).custom_flags(flags.cast_signed()).open(path);
    opened.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
}
