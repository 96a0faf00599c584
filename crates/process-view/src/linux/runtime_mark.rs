//! How a .NET runtime is recognised from outside, when its diagnostics socket does not tell.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use super::Process;

/// How many threads are looked at: the runtime's own come right after the main thread.
const THREADS_LOOKED_AT: usize = 8;
/// How many lines of `maps` are read before giving up; a process may have hundreds of thousands.
const MAPS_LOOKED_AT: usize = 20_000;

/// What shows that a process runs .NET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuntimeMark {
    /// The runtime's library is mapped, from this file.
    Library(PathBuf),
    /// A thread carries a name that only the runtime gives (`.NET SynchManag`...).
    ThreadName(String),
}

impl RuntimeMark {
    /// Version of the runtime, when the library lies in a folder named after it, as the shared framework does
    /// (`shared/Microsoft.NETCore.App/3.1.23/libcoreclr.so`).
    #[must_use]
    pub fn version(&self) -> Option<String> {
        let RuntimeMark::Library(path) = self else { return None };
        let folder = path.parent()?;
        let framework = folder.parent()?.file_name()?.to_str()?;
        let version = folder.file_name()?.to_str()?;
        (framework == "Microsoft.NETCore.App").then(|| version.to_owned())
    }
}

impl Process {
    /// Looks for a mapped runtime library first, because it tells the version, then for the runtime's thread
    /// names, which everybody may read. `None` means: no mark seen.
    #[must_use]
    pub fn runtime_mark(&self) -> Option<RuntimeMark> {
        self.runtime_library().map(RuntimeMark::Library).or_else(|| self.runtime_thread())
    }

    /// Only the thread names: the cheaper half of [`Process::runtime_mark`].
    #[must_use]
    pub fn runtime_thread(&self) -> Option<RuntimeMark> {
        let tasks = self.tasks().ok()?;
        tasks
            .iter()
            .take(THREADS_LOOKED_AT)
            .filter_map(|task| task.name().ok())
            .find(|name| name.starts_with(".NET "))
            .map(RuntimeMark::ThreadName)
    }

    fn runtime_library(&self) -> Option<PathBuf> {
        let maps = BufReader::new(File::open(self.path("maps")).ok()?);
        maps.split(b'\n').take(MAPS_LOOKED_AT).map_while(Result::ok).find_map(|line| library_in_line(&line))
    }
}

fn library_in_line(line: &[u8]) -> Option<PathBuf> {
    let line = line.strip_suffix(b" (deleted)").unwrap_or(line);
    if !line.ends_with(b"/libcoreclr.so") {
        return None;
    }
    let start = line.iter().position(|&byte| byte == b'/')?;
    Some(PathBuf::from(std::str::from_utf8(line.get(start..)?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_folder_of_the_shared_framework() {
        let line = b"7f00-7f01 r-xp 00000000 08:01 99   /opt/my net/shared/Microsoft.NETCore.App/3.1.23/libcoreclr.so";
        let mark = RuntimeMark::Library(library_in_line(line).unwrap());
        assert_eq!(mark.version().as_deref(), Some("3.1.23"));
        let own = RuntimeMark::Library(PathBuf::from("/app/libcoreclr.so"));
        assert_eq!(own.version(), None);
        assert_eq!(library_in_line(b"7f00-7f01 r-xp 0 08:01 9 /lib/libc.so.6"), None);
    }

    #[test]
    fn this_process_has_no_mark() {
        assert_eq!(Process::this().runtime_mark(), None);
    }
}
