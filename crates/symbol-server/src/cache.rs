//! Fetched files on disk.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use native_symbols::BuildId;
use tempfile::NamedTempFile;

use crate::FetchError;

/// The ending of files on their way.
const DRAFT: &str = ".part";

/// A folder of debug files, each called by its build id with the ending `.debug`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

/// What is in a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// How many files.
    pub files: u64,
    /// How long they are.
    pub bytes: u64,
}

impl Cache {
    /// The cache in this folder, which is made, private to its user, if it is not there.
    pub fn create(folder: PathBuf) -> Result<Cache, FetchError> {
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed(&folder))?;
        let cache = Cache { folder };
        cache.sweep();
        Ok(cache)
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is in a folder; nothing, if it is not there.
    #[must_use]
    pub fn contents(folder: &Path) -> Contents {
        let mut contents = Contents::default();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_debug_file = entry.file_name().to_string_lossy().ends_with(".debug");
            if let Ok(file) = entry.metadata()
                && is_debug_file
                && file.is_file()
            {
                contents.files += 1;
                contents.bytes += file.len();
            }
        }
        contents
    }

    /// A new file, which is gone when it is dropped.
    pub(crate) fn draft(&self) -> Result<Draft, FetchError> {
        loop {
            let file = tempfile::Builder::new()
                .prefix(".")
                .suffix(DRAFT)
                .tempfile_in(&self.folder)
                .map_err(failed(&self.folder))?;
            // The lock tells others that somebody still writes it. One who sweeps may have been quicker.
            let is_ours = file.as_file().try_lock().is_ok();
            if is_ours && file.as_file().metadata().is_ok_and(|known| known.nlink() > 0) {
                return Ok(Draft { file });
            }
        }
    }

    /// Removes what runs that were killed have left. The kernel frees their locks.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_draft = name.starts_with('.') && name.ends_with(DRAFT);
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_draft && is_file && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A file on its way.
pub(crate) struct Draft {
    file: NamedTempFile,
}

impl Draft {
    pub(crate) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Makes it the debug file of a build, in place of any that is there.
    pub(crate) fn keep(self, cache: &Cache, id: &BuildId) -> Result<PathBuf, FetchError> {
        let path = id.in_cache(&cache.folder);
        // A power cut must not leave a name without its bytes.
        self.file.as_file().sync_all().map_err(failed(&path))?;
        self.file.persist(&path).map_err(|error| failed(&path)(error.error))?;
        Ok(path)
    }
}

pub(crate) fn failed(path: &Path) -> impl FnOnce(io::Error) -> FetchError + '_ {
    |source| FetchError::Cache { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn files_are_private_whole_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::create(folder.path().join("a/b")).unwrap();
        assert_eq!(fs::metadata(cache.folder()).unwrap().permissions().mode() & 0o777, 0o700);
        let mut draft = cache.draft().unwrap();
        draft.file().write_all(b"12345").unwrap();
        assert_eq!(Cache::contents(cache.folder()), Contents::default(), "a draft is no file yet");
        let kept = draft.keep(&cache, &BuildId(vec![0xab, 0xcd])).unwrap();
        assert_eq!(kept, cache.folder().join("abcd.debug"));
        assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Cache::contents(cache.folder()), Contents { files: 1, bytes: 5 });
        drop(cache.draft().unwrap());
        assert_eq!(names(cache.folder()), ["abcd.debug"]);
        assert_eq!(Cache::contents(Path::new("/nowhere")), Contents::default());
    }

    #[test]
    fn drafts_of_the_dead_are_swept_and_those_of_the_living_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::create(folder.path().to_owned()).unwrap();
        let living = cache.draft().unwrap();
        fs::write(folder.path().join(".dead.part"), "half a file").unwrap();
        fs::write(folder.path().join("mine.part"), "the user's own").unwrap();
        Cache::create(folder.path().to_owned()).unwrap();
        assert!(living.path().exists());
        assert!(!folder.path().join(".dead.part").exists() && folder.path().join("mine.part").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(Cache::create(file.path().join("x")), Err(FetchError::Cache { .. })));
    }
}
