//! What can be known before the runtime is asked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use discovery::DotnetProcess;
use process_view::{Process, RuntimeMark};
use rustix::fs::{StatVfsMountFlags, fstat, fstatvfs};

use crate::error::DumpError;
use crate::kind::expected_bytes;
use crate::place::Place;
use crate::write::Wish;

const CAP_DAC_OVERRIDE: u64 = 1 << 1;
const CAP_SYS_PTRACE: u64 = 1 << 19;
/// Runtimes up to this one, as a single file, need `createdump` beside the program, and report success without it.
const LAST_WITHOUT_DUMPER_INSIDE: u32 = 8;

/// The disk will probably be too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotEnoughRoom {
    /// About how much the dump will have.
    pub expected: u64,
    /// How much is free.
    pub free: u64,
}

/// Looks for what would make the dump fail. A disk that looks too small is no reason to refuse: the size is a guess.
pub fn look_over(
    process: &DotnetProcess,
    place: &Place,
    wish: &Wish,
) -> Result<Option<NotEnoughRoom>, DumpError> {
    if !process.visible {
        return Ok(None);
    }
    let view = Process::new(process.pid);
    dumper(process, &view)?;
    tracing(&view)?;
    let room = folder(process, &view, place)?;
    if let Some(name) = place.path.file_name()
        && place.stat(name.as_ref()).is_some()
    {
        return Err(DumpError::Exists(place.path.clone()));
    }
    let expected = expected_bytes(&view, wish.kind);
    Ok(match (expected, room) {
        (Some(expected), Some(free)) if free < expected => Some(NotEnoughRoom { expected, free }),
        _ => None,
    })
}

/// The runtime's own program for dumps.
fn dumper(process: &DotnetProcess, view: &Process) -> Result<(), DumpError> {
    let beside = match view.runtime_mark() {
        Some(RuntimeMark::Library(library)) => library,
        _ => match fs::read_link(format!("/proc/{}/exe", view.id)) {
            Ok(program) => {
                let path = program.with_file_name("createdump");
                // Newer ones have it inside.
                if process.runtime_major().is_none_or(|major| major > LAST_WITHOUT_DUMPER_INSIDE)
                    && view.is_runnable(&path).is_none()
                {
                    return Ok(());
                }
                program
            }
            Err(_) => return Ok(()),
        },
    };
    let path: PathBuf = beside.with_file_name("createdump");
    match view.is_runnable(&path) {
        Some(true) => Ok(()),
        Some(false) => Err(DumpError::DumperNotRunnable(path)),
        None => Err(DumpError::NoDumper(path)),
    }
}

/// `createdump` reads the memory of its parent, which lets it (`PR_SET_PTRACER`) where the kernel lets it.
fn tracing(view: &Process) -> Result<(), DumpError> {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let scope: i32 = scope.trim().parse().unwrap_or(0);
    let may = view.status().is_ok_and(|status| status.capabilities & CAP_SYS_PTRACE != 0);
    if scope >= 3 || scope == 2 && !may {
        return Err(DumpError::TracingOff { scope });
    }
    Ok(())
}

/// The folder: whether the target may write there, and how much is free.
fn folder(process: &DotnetProcess, view: &Process, place: &Place) -> Result<Option<u64>, DumpError> {
    let folder = match place.open_folder(place.folder()) {
        Ok(folder) => folder,
        Err(error)
            if error.kind() == io::ErrorKind::NotFound || error.kind() == io::ErrorKind::NotADirectory =>
        {
            return Err(DumpError::NoFolder(place.folder().to_owned()));
        }
        // We may not look there; the target may.
        Err(_) => return Ok(None),
    };
    let Ok(system) = fstatvfs(&folder) else { return Ok(None) };
    if system.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(DumpError::ReadOnly(place.folder().to_owned()));
    }
    if let (Ok(status), Ok(stat)) = (view.status(), fstat(&folder))
        && status.capabilities & CAP_DAC_OVERRIDE == 0
        && !may_write(status.user, &groups(view.id.0), &stat)
    {
        let user = process.user.as_ref().map_or_else(|| status.user.to_string(), discovery::User::shown);
        return Err(DumpError::NotAllowed { folder: place.folder().to_owned(), user });
    }
    Ok(Some(system.f_bavail.saturating_mul(system.f_frsize)))
}

/// By the mode alone: access lists may allow more or less, which then shows when it is tried.
fn may_write(user: u32, groups: &[u32], stat: &rustix::fs::Stat) -> bool {
    const WRITE_AND_ENTER: u32 = 3;
    let shift = if stat.st_uid == user {
        6
    } else if groups.contains(&stat.st_gid) {
        3
    } else {
        0
    };
    (stat.st_mode >> shift) & WRITE_AND_ENTER == WRITE_AND_ENTER
}

/// The groups of a process, its own first.
fn groups(pid: u32) -> Vec<u32> {
    let status =
        fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).unwrap_or_default();
    let line =
        |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().to_owned();
    let effective = line("Gid:").split_ascii_whitespace().nth(1).map(str::to_owned);
    let more = line("Groups:");
    effective
        .iter()
        .map(String::as_str)
        .chain(more.split_ascii_whitespace())
        .filter_map(|word| word.parse().ok())
        .collect()
}
