//! The cache folder: what is prepared once and used by every later run.
//!
//! ```text
//! <cache>/
//!   net9-9.0.7-layout1/          complete, because it was renamed to this name as the last step
//!   .staging-net9-...-x7Gh2/     being prepared, or left over by a process that was killed
//!   locks/net9-9.0.7-layout1     held while it is being prepared
//! ```

use std::env;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Once;

use crate::error::TestbedError;
use crate::progress::say;

/// The folder that holds everything prepared.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
}

/// Two empty folders inside the cache, for one preparation.
pub(crate) struct Staging {
    /// For archives and other things that are dropped at the end.
    pub(crate) scratch: PathBuf,
    /// For what is kept.
    pub(crate) result: PathBuf,
}

impl Cache {
    /// The folder named by the environment. It is created by the first preparation.
    pub(crate) fn from_environment() -> Result<Cache, TestbedError> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = set("DRDOTNET_TESTBED")
            .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("drdotnet/testbed")))
            .or_else(|| set("HOME").map(|home| home.join(".cache/drdotnet/testbed")))
            .ok_or(TestbedError::NoCacheFolder)?;
        // The start-up hook of .NET takes absolute paths only.
        let folder = std::path::absolute(&folder).map_err(TestbedError::disk("find", &folder))?;
        Ok(Cache { folder })
    }

    /// A cache in this folder.
    pub(crate) fn at(folder: &Path) -> Cache {
        Cache { folder: folder.to_owned() }
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder `name`, if it is complete.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        let path = self.folder.join(name);
        path.is_dir().then_some(path)
    }

    /// The folder `name`: as it is when complete, else filled by `fill`, by one process at a time.
    ///
    /// What `fill` leaves in the staging area's `result` becomes the folder `name`.
    pub(crate) fn prepare(
        &self,
        name: &str,
        what: &str,
        fill: impl FnOnce(&Staging) -> Result<(), TestbedError>,
    ) -> Result<PathBuf, TestbedError> {
        if let Some(path) = self.find(name) {
            return Ok(path);
        }
        let _lock = self.lock(name, what)?;
        if let Some(path) = self.find(name) {
            return Ok(path);
        }
        let prefix = format!(".staging-{name}-");
        self.remove_leftovers(&prefix)?;
        let staging = tempfile::Builder::new()
            .prefix(&prefix)
            .tempdir_in(&self.folder)
            .map_err(TestbedError::disk("create a folder in", &self.folder))?;
        let area = Staging { scratch: staging.path().join("scratch"), result: staging.path().join("result") };
        for folder in [&area.scratch, &area.result] {
            fs::create_dir(folder).map_err(TestbedError::disk("create", folder))?;
        }
        fill(&area)?;
        let path = self.folder.join(name);
        fs::rename(&area.result, &path).map_err(TestbedError::disk("rename a prepared folder to", &path))?;
        Ok(path)
    }

    /// Says where the cache is, once in the life of this process.
    pub(crate) fn announce(&self) {
        static ANNOUNCE: Once = Once::new();
        ANNOUNCE.call_once(|| say(&format!("the cache is {}", self.folder.display())));
    }

    /// Waits for the right to prepare `name`. The lock ends with the file handle, also when the process is killed.
    fn lock(&self, name: &str, what: &str) -> Result<File, TestbedError> {
        let folder = self.folder.join("locks");
        fs::create_dir_all(&folder).map_err(TestbedError::disk("create", &folder))?;
        let path = folder.join(name);
        let file = File::create(&path).map_err(TestbedError::disk("create", &path))?;
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                say(&format!("waiting for another process that prepares {what}"));
            }
            Err(TryLockError::Error(source)) => {
                return Err(TestbedError::Disk { action: "lock", path, source });
            }
        }
        file.lock().map_err(TestbedError::disk("lock", &path))?;
        Ok(file)
    }

    /// Removes what killed processes left. Safe because the caller holds the lock of this name.
    fn remove_leftovers(&self, prefix: &str) -> Result<(), TestbedError> {
        for name in self.names()? {
            if name.starts_with(prefix) {
                let path = self.folder.join(name);
                fs::remove_dir_all(&path).map_err(TestbedError::disk("remove", &path))?;
            }
        }
        Ok(())
    }

    /// The names of all files and folders in the cache.
    pub(crate) fn names(&self) -> Result<Vec<String>, TestbedError> {
        let read = |source| TestbedError::Disk { action: "list", path: self.folder.clone(), source };
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(read)? {
            names.push(entry.map_err(read)?.file_name().to_string_lossy().into_owned());
        }
        Ok(names)
    }
}

/// The bytes of all files below `path`. Files that vanish meanwhile count as nothing.
pub(crate) fn bytes_below(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn many_at_once_prepare_one_time() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let times = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let path = cache
                        .prepare("thing-1", "a thing", |area| {
                            times.fetch_add(1, Ordering::SeqCst);
                            fs::write(area.result.join("file"), "text").unwrap();
                            Ok(())
                        })
                        .unwrap();
                    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "text");
                });
            }
        });
        assert_eq!(times.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_failed_or_killed_preparation_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        fs::create_dir(folder.path().join(".staging-thing-1-killed")).unwrap();
        let result = cache.prepare("thing-1", "a thing", |area| {
            fs::write(area.result.join("half"), "").unwrap();
            Err(TestbedError::NoCacheFolder)
        });
        assert!(result.is_err());
        assert_eq!(cache.names().unwrap(), ["locks"]);
    }
}
