//! Finding programs the way a shell does.

use std::env;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The program `name` in the folders of `path`, a value like that of `PATH`.
pub(crate) fn find_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    env::split_paths(path).map(|folder| folder.join(name)).find(|file| is_program(file))
}

/// The program `name` in the folders of our own `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    find_in(&env::var_os("PATH")?, name)
}

/// Whether `file` is a file with a run bit.
pub(crate) fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
