//! Where debug information that was split off a file is looked for.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use crate::{BuildId, SymbolError};

/// Largest file that is looked into; Chromium's debug file has some gigabytes, libcoreclr's has 60 MB.
pub const LARGEST_FILE: u64 = 1 << 30;

/// Where fetched files are kept for this user: `DRDOTNET_SYMBOL_CACHE`, or `drdotnet/symbols` under `XDG_CACHE_HOME` or
/// `~/.cache`. None without a home folder.
#[must_use]
pub fn user_cache() -> Option<PathBuf> {
    cache_from(|name| std::env::var_os(name))
}

fn cache_from(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = folder("DRDOTNET_SYMBOL_CACHE");
    own.or_else(|| {
        // The specification of these folders says that a relative one does not count.
        let caches = folder("XDG_CACHE_HOME").filter(|path| path.is_absolute());
        let caches = caches.or_else(|| folder("HOME").map(|home| home.join(".cache")))?;
        Some(caches.join("drdotnet/symbols"))
    })
}

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

    /// Opens a regular file of at most [`LARGEST_FILE`] bytes. Links in the target's file system are followed there: an
    /// absolute one would otherwise lead into ours.
    pub(crate) fn open(&self, path: &Path) -> Result<File, SymbolError> {
        let failed = |source| SymbolError::Io { path: path.to_owned(), source };
        let below = path.strip_prefix(&self.root).ok().filter(|_| !self.root.as_os_str().is_empty());
        // A pipe that somebody put there must not hold us.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = match below {
            Some(below) => File::open(&self.root)
                .and_then(|root| Ok(openat2(&root, below, flags, Mode::empty(), ResolveFlags::IN_ROOT)?)),
            None => rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from),
        };
        let file = File::from(opened.map_err(failed)?);
        let kind = file.metadata().map_err(failed)?;
        if !kind.is_file() {
            return Err(failed(io::Error::other("not a regular file")));
        }
        if kind.len() > LARGEST_FILE {
            return Err(SymbolError::TooLarge { path: path.to_owned(), bytes: kind.len() });
        }
        Ok(file)
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
            found.extend(self.cache.iter().map(|cache| cached(cache, &id)));
        }
        found.dedup();
        found
    }
}

fn cached(cache: &Path, id: &str) -> PathBuf {
    cache.join(format!("{id}.debug"))
}

impl BuildId {
    /// The debug file of this build in a cache of fetched files.
    #[must_use]
    pub fn in_cache(&self, cache: &Path) -> PathBuf {
        cached(cache, &self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_the_users_own() {
        let with = |set: &[(&str, &str)]| {
            let set: Vec<(String, OsString)> =
                set.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
            cache_from(|name| set.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("HOME", "/home/app")]), Some("/home/app/.cache/drdotnet/symbols".into()));
        let xdg = [("HOME", "/home/app"), ("XDG_CACHE_HOME", "/var/c")];
        assert_eq!(with(&xdg), Some("/var/c/drdotnet/symbols".into()));
        let relative = [("HOME", "/home/app"), ("XDG_CACHE_HOME", "c")];
        assert_eq!(with(&relative), Some("/home/app/.cache/drdotnet/symbols".into()));
        assert_eq!(with(&[("HOME", "/a"), ("DRDOTNET_SYMBOL_CACHE", "/s")]), Some("/s".into()));
    }

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
