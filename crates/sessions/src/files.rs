//! Writing so that a file is there whole or not at all, and is nobody else's.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::SessionError;

pub(crate) const LOCK: &str = "lock";
pub(crate) const MANIFEST: &str = "session.json";
pub(crate) const REPORT: &str = "report.json";
pub(crate) const OUTCOME: &str = "outcome.json";
/// The samples of a run that has any.
pub(crate) const PROFILE: &str = "profile.drprof";
/// The page that `sessions open` makes of the report.
pub(crate) const PAGE: &str = "report.html";

/// How names of files begin that hold a heap: the first look, the second...
pub(crate) const HEAP: &str = "heap-";
/// How they end.
pub(crate) const HEAP_END: &str = ".gcdump";

/// How names of files begin that a session keeps beside its profile: pictures, and other formats.
const PRODUCTS: [&str; 5] = ["flamegraph.", "on-cpu.", "off-cpu.", "ready.", HEAP];

/// Removes a session's own files, and its folder if nothing else is in it: the rest is the user's.
pub(crate) fn remove_session(folder: &Path) -> io::Result<()> {
    for name in [PAGE, OUTCOME, REPORT, PROFILE, MANIFEST, LOCK] {
        for file in [folder.join(name), draft_of(folder, name)] {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name();
        let is_product =
            name.to_str().is_some_and(|name| PRODUCTS.iter().any(|product| name.starts_with(product)));
        if is_product && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            fs::remove_file(entry.path())?;
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        outcome => outcome,
    }
}

fn draft_of(folder: &Path, name: &str) -> std::path::PathBuf {
    folder.join(format!(".{name}.draft"))
}

pub(crate) fn write_error(path: &Path) -> impl FnOnce(io::Error) -> SessionError + '_ {
    move |source| SessionError::Write { path: path.to_owned(), source }
}

pub(crate) fn read_error(path: &Path) -> impl FnOnce(io::Error) -> SessionError + '_ {
    move |source| SessionError::Read { path: path.to_owned(), source }
}

/// Makes a folder that only its user can enter, and its parents, if it is not there.
pub(crate) fn private_store(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The same for the folder of one session, which is closed to others also if it was there.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    private_store(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

/// Creates a file that only its user can read; it must not exist yet.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Makes the names of a folder's files survive a power cut, once for all that were written before.
pub(crate) fn keep_names(folder: &Path) -> Result<(), SessionError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(write_error(folder))
}

/// Writes `folder/name` so that it appears complete, or does not appear.
pub(crate) fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), SessionError> {
    stream_whole(folder, name, |file| file.write_all(bytes))
}

/// The same for what is made while it is written.
pub(crate) fn stream_whole(
    folder: &Path,
    name: &str,
    make: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), SessionError> {
    let target = folder.join(name);
    let draft = draft_of(folder, name);
    let written = (|| {
        let _ = fs::remove_file(&draft);
        let mut file = BufWriter::new(private_file(&draft)?);
        make(&mut file)?;
        file.into_inner()?.sync_all()?;
        fs::rename(&draft, &target)
    })();
    written.map_err(|source| {
        let _ = fs::remove_file(&draft);
        SessionError::Write { path: target, source }
    })
}
