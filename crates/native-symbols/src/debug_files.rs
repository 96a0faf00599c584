//! Where debug information that was split off a file is looked for.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::{BuildId, SymbolError};

/// Largest file that is read; Chromium's debug file has some gigabytes, libcoreclr's has 60 MB.
pub(crate) const LARGEST_FILE: u64 = 1 << 30;

/// Folders with debug files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugFolders {
    /// The root of the file system that the target sees, such as `/proc/PID/root`.
    pub root: PathBuf,
    /// A folder with fetched files, each called by its build id with the ending `.debug`.
    pub cache: Option<PathBuf>,
}

impl DebugFolders {
    /// A path of the target as this process can open it.
    #[must_use]
    pub fn inside(&self, path: &Path) -> PathBuf {
        let relative = path.strip_prefix("/").unwrap_or(path);
        if self.root.as_os_str().is_empty() { path.to_owned() } else { self.root.join(relative) }
    }

    /// Where the debug information of a file may be, likeliest first.
    #[must_use]
    pub fn candidates(&self, file: &Path, build_id: Option<&BuildId>, link: Option<&str>) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let folder = file.parent().unwrap_or(Path::new("/"));
        let with_ending = |ending: &str| {
            let mut name = file.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        // Microsoft's own are called libcoreclr.so.dbg.
        found.push(self.inside(&with_ending(".dbg")));
        found.push(self.inside(&with_ending(".debug")));
        if let Some(link) = link.filter(|link| !link.contains('/')) {
            found.push(self.inside(&folder.join(link)));
            found.push(self.inside(&folder.join(".debug").join(link)));
            let below = folder.strip_prefix("/").unwrap_or(folder);
            found.push(self.inside(&Path::new("/usr/lib/debug").join(below).join(link)));
        }
        if let Some(id) = build_id.map(BuildId::to_string).filter(|id| id.len() > 2) {
            let (first, rest) = id.split_at(2);
            let usual = Path::new("/usr/lib/debug/.build-id").join(first).join(format!("{rest}.debug"));
            found.push(self.inside(&usual));
            found.push(usual);
            found.extend(self.cache.iter().map(|cache| cache.join(format!("{id}.debug"))));
        }
        found.dedup();
        found
    }
}

/// Reads a regular file of at most this size. Anything else (a pipe, a device) would block or never end.
pub(crate) fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, SymbolError> {
    let failed = |source| SymbolError::Io { path: path.to_owned(), source };
    let kind = std::fs::metadata(path).map_err(failed)?;
    if !kind.is_file() {
        return Err(failed(std::io::Error::other("not a regular file")));
    }
    if kind.len() > most {
        return Err(SymbolError::TooLarge { path: path.to_owned(), bytes: kind.len() });
    }
    let mut data = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(most).read_to_end(&mut data).map_err(failed)?;
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_looked_for_where_the_target_sees_them() {
        let folders = DebugFolders { root: "/proc/7/root".into(), cache: Some("/cache".into()) };
        let id = BuildId(vec![0xab, 0xcd, 0xef]);
        let found =
            folders.candidates(Path::new("/opt/net/libcoreclr.so"), Some(&id), Some("libcoreclr.so.dbg"));
        assert_eq!(found[0], Path::new("/proc/7/root/opt/net/libcoreclr.so.dbg"));
        assert!(found.contains(&"/proc/7/root/usr/lib/debug/.build-id/ab/cdef.debug".into()));
        assert!(found.contains(&"/cache/abcdef.debug".into()));
        // A link must not lead out of its folder.
        let evil = folders.candidates(Path::new("/a/b.so"), None, Some("../../etc/shadow"));
        assert!(evil.iter().all(|path| !path.to_string_lossy().contains("shadow")));
    }
}
