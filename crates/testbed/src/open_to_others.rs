//! A second place for prepared folders, for targets of another user.
//!
//! The cache lies in a home folder, which other users may not enter. Their targets run from `/var/tmp` instead,
//! where the same files appear as hard links and take no space.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::error::TestbedError;

/// The folder that every user may enter and that survives a restart.
const OPEN_FOLDER: &str = "/var/tmp";

/// Permission to pass through a folder, for those who neither own it nor are in its group.
const OTHERS_MAY_ENTER: u32 = 0o001;

/// `folder`, a complete folder of `cache`, or its double in a place that every user can reach.
pub(crate) fn reachable(cache: &Cache, folder: &Path) -> Result<PathBuf, TestbedError> {
    let Some(name) = folder.strip_prefix(cache.folder()).ok().and_then(Path::to_str) else {
        return Ok(folder.to_owned());
    };
    if folder.ancestors().all(others_may_enter) {
        return Ok(folder.to_owned());
    }
    let open = own_folder(&Path::new(OPEN_FOLDER).join(format!("drdotnet-testbed-{}", our_user())))?;
    Cache::at(&open).prepare(name, name, |area| {
        link_all(folder, &area.result).map_err(TestbedError::disk("link or copy", folder))
    })
}

fn others_may_enter(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|metadata| metadata.mode() & OTHERS_MAY_ENTER != 0)
}

fn our_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Creates the folder if it is missing. In a place where everybody may write, it could also be somebody else's.
fn own_folder(path: &Path) -> Result<PathBuf, TestbedError> {
    match fs::DirBuilder::new().mode(0o755).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => path.symlink_metadata().and_then(|metadata| {
            if metadata.is_dir() && metadata.uid() == our_user() {
                Ok(path.to_owned())
            } else {
                Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"))
            }
        }),
    }
    .map_err(TestbedError::disk("use", path))
}

fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            link_all(&entry.path(), &target)?;
        } else if fs::hard_link(entry.path(), &target).is_err() {
            // Another file system, or one without links.
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_everybody_can_enter_stays_where_it_is() {
        let folder =
            tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir().unwrap();
        let prepared = folder.path().join("thing-1");
        fs::create_dir(&prepared).unwrap();
        fs::set_permissions(&prepared, fs::Permissions::from_mode(0o755)).unwrap();
        let cache = Cache::at(folder.path());
        assert_eq!(reachable(&cache, &prepared).unwrap(), prepared);
        assert_eq!(
            reachable(&cache, Path::new("/usr/share/dotnet")).unwrap(),
            Path::new("/usr/share/dotnet")
        );
    }

    #[test]
    fn links_have_the_same_files() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("deep")).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("deep/file"), "text").unwrap();
        link_all(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("deep/file")).unwrap(), "text");
    }

    #[test]
    fn a_foreign_folder_is_refused() {
        if our_user() == 0 {
            let folder = tempfile::tempdir().unwrap();
            std::os::unix::fs::chown(folder.path(), Some(65534), None).unwrap();
            assert!(own_folder(folder.path()).unwrap_err().to_string().contains("another user"));
        }
    }
}
