//! Where the socket of a process must lie, and whether it lies there.

use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use diagnostics_ipc::Endpoint;
use process_view::{Process, Stat, Status, ViewError};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, openat2, statat};

use crate::SocketName;

/// The runtime's folder for sockets when `TMPDIR` is not set.
const DEFAULT_FOLDER: &str = "/tmp";

/// The result of looking for a socket.
pub(crate) enum Located {
    /// It is there.
    Socket(Endpoint, SocketName),
    /// It is not where it should be.
    Nothing {
        /// Where it should be, as the target would say it.
        expected: PathBuf,
        /// The environment, when it could be read: it may tell why.
        environment: Option<Vec<(String, String)>>,
    },
    /// This user may not look.
    Forbidden,
}

/// Our own folders for sockets: `TMPDIR` and the default one.
pub(crate) fn own_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::var_os("TMPDIR").map(PathBuf::from).into_iter().collect();
    folders.push(PathBuf::from(DEFAULT_FOLDER));
    folders.dedup();
    folders
}

/// The names of all sockets of runtimes in a folder.
pub(crate) fn sockets_in(folder: &Path) -> Vec<SocketName> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_socket = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_socket());
    entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry)))
        .filter(|(_, entry)| is_socket(entry))
        .map(|(name, _)| name)
        .collect()
}

/// Looks for the socket of a process.
pub(crate) fn locate(process: &Process, stat: &Stat, status: &Status) -> Located {
    let pid = status.ids.innermost().unwrap_or(process.id.0);
    let name = SocketName { pid, key: stat.start_ticks };
    match process.environment() {
        Ok(environment) => {
            let folder = temp_folder(process, &environment);
            match look(process, &folder, name) {
                Some(endpoint) => Located::Socket(endpoint, name),
                None => Located::Nothing {
                    expected: folder.join(name.to_string()),
                    environment: Some(environment),
                },
            }
        }
        // A foreign process: its folder is a guess, but a socket there with exactly its pid and start is its own.
        Err(ViewError::Denied { .. }) => own_folders()
            .into_iter()
            .map(|folder| folder.join(name.to_string()))
            .find(|path| is_socket(path))
            .map_or(Located::Forbidden, |path| {
                Located::Socket(Endpoint::at(path).expecting(process.id), name)
            }),
        Err(_) => {
            Located::Nothing { expected: Path::new(DEFAULT_FOLDER).join(name.to_string()), environment: None }
        }
    }
}

/// The folder for sockets of a process, as the process would say it.
pub(crate) fn temp_folder(process: &Process, environment: &[(String, String)]) -> PathBuf {
    let set = environment.iter().find(|(name, value)| name == "TMPDIR" && !value.is_empty());
    let folder = PathBuf::from(set.map_or(DEFAULT_FOLDER, |(_, value)| value.as_str()));
    // A relative one counts from where the process is.
    match process.working_folder() {
        Some(from) if folder.is_relative() => from.join(folder),
        _ => folder,
    }
}

/// Opens a folder of the target's file system. Links are followed in *its* file system: an absolute one would
/// otherwise lead into ours.
pub(crate) fn open_inside(process: &Process, folder: &Path) -> Option<File> {
    let root = File::open(process.root()).ok()?;
    let inside = folder.strip_prefix("/").unwrap_or(folder);
    let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(&root, inside, flags, Mode::empty(), ResolveFlags::IN_ROOT).ok().map(File::from)
}

fn look(process: &Process, folder: &Path, name: SocketName) -> Option<Endpoint> {
    if process.shares_file_system().unwrap_or(true) {
        let path = folder.join(name.to_string());
        return is_socket(&path).then(|| Endpoint::at(path).expecting(process.id));
    }
    let opened = open_inside(process, folder)?;
    let kind = statat(&opened, name.to_string(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileType::from_raw_mode(kind.st_mode) != FileType::Socket {
        return None;
    }
    let shown = process.root().join(folder.strip_prefix("/").unwrap_or(folder)).join(name.to_string());
    let endpoint = Endpoint::in_folder(Arc::new(opened), name.to_string(), shown);
    Some(endpoint.expecting(process.id))
}

fn is_socket(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|file| file.file_type().is_socket())
}
