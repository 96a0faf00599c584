//! A place for sessions where there is no home folder to write to.
//!
//! The temporary folder is everybody's, so somebody else may have made a folder of our name first, to read what
//! we write. Only a real folder that is this user's and closed to all others is used.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::SessionError;
use crate::files::{read_error, write_error};

/// A folder of the user in the temporary folder.
#[derive(Clone, Debug)]
pub(crate) struct Makeshift {
    folder: PathBuf,
    user: u32,
}

impl Makeshift {
    pub(crate) fn of_user() -> Self {
        let user = rustix::process::geteuid().as_raw();
        Makeshift { folder: std::env::temp_dir().join(format!("drdotnet-{user}")), user }
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.folder.join("sessions")
    }

    /// Makes it, if it is not there, and checks it.
    pub(crate) fn create(&self) -> Result<(), SessionError> {
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(write_error(&self.folder)(error)),
            _ => self.check(),
        }
    }

    /// Checks that it is nobody else's, if it is there.
    pub(crate) fn check(&self) -> Result<(), SessionError> {
        let untrusted = |problem| Err(SessionError::Untrusted { path: self.folder.clone(), problem });
        match fs::symlink_metadata(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(read_error(&self.folder)(error)),
            Ok(seen) if !seen.is_dir() => untrusted("it is not a folder"),
            Ok(seen) if seen.uid() != self.user => untrusted("it belongs to another user"),
            Ok(seen) if seen.mode() & 0o077 != 0 => untrusted("other users may enter it"),
            Ok(_) => Ok(()),
        }
    }
}

/// Whether this folder can be written, or made if it is not there. It is not made here.
pub(crate) fn can_be_written(folder: &Path) -> bool {
    let existing = folder.ancestors().find(|ancestor| fs::symlink_metadata(ancestor).is_ok());
    existing.is_some_and(|folder| access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn in_folder(folder: &Path) -> Makeshift {
        Makeshift { folder: folder.join("drdotnet-0"), user: rustix::process::geteuid().as_raw() }
    }

    fn problem(makeshift: &Makeshift) -> &'static str {
        match makeshift.check() {
            Err(SessionError::Untrusted { problem, .. }) => problem,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_new_folder_is_private_and_trusted_again() {
        let temporary = tempfile::tempdir().unwrap();
        let makeshift = in_folder(temporary.path());
        makeshift.check().unwrap();
        makeshift.create().unwrap();
        makeshift.create().unwrap();
        assert_eq!(fs::metadata(&makeshift.folder).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_trap_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let makeshift = in_folder(temporary.path());
        symlink(temporary.path(), &makeshift.folder).unwrap();
        assert_eq!(problem(&makeshift), "it is not a folder");
        assert!(makeshift.create().is_err());
        fs::remove_file(&makeshift.folder).unwrap();

        makeshift.create().unwrap();
        fs::set_permissions(&makeshift.folder, fs::Permissions::from_mode(0o750)).unwrap();
        assert_eq!(problem(&makeshift), "other users may enter it");
        fs::set_permissions(&makeshift.folder, fs::Permissions::from_mode(0o700)).unwrap();
        let theirs = Makeshift { user: makeshift.user + 1, ..makeshift };
        assert_eq!(problem(&theirs), "it belongs to another user");
    }

    #[test]
    fn a_folder_that_is_not_there_yet_counts_by_its_parent() {
        let temporary = tempfile::tempdir().unwrap();
        assert!(can_be_written(&temporary.path().join("a/b/c")));
        assert!(!can_be_written(Path::new("")));
    }
}
