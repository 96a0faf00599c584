//! Whether the library can live in a process at all. One that was built for another C library may be loaded and then crash.

use std::fs::File;
use std::io::{BufRead, BufReader};

use process_view::{Process, ViewError};

use crate::AgentError;

/// Most lines of a process's mappings that are looked at; the C library is among the first thousands.
const MOST_LINES: usize = 100_000;

/// An error if the process needs another build of the agent.
pub(crate) fn check(process: &Process) -> Result<(), AgentError> {
    let ours = Process::this().architecture();
    let theirs = process.architecture();
    if let (Some(ours), Some(theirs)) = (ours, theirs)
        && ours != theirs
    {
        return Err(AgentError::OtherMachine { theirs, ours });
    }
    let path = format!("/proc/{}/maps", process.id);
    let opened = File::open(&path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => AgentError::View(ViewError::Vanished { pid: process.id }),
        _ => AgentError::System { what: "looking at the memory map of the process", source },
    })?;
    let mut lines = BufReader::new(opened).split(b'\n').take(MOST_LINES).map_while(Result::ok);
    let has_musl = lines.any(|line| is_musl(&line));
    if has_musl == cfg!(target_env = "musl") {
        return Ok(());
    }
    let (theirs, ours) = if has_musl { ("musl", "glibc") } else { ("glibc", "musl") };
    Err(AgentError::OtherLibrary { theirs, ours })
}

/// Whether a line of the mappings is one of musl: its loader is its library.
fn is_musl(line: &[u8]) -> bool {
    line.rsplit(|&byte| byte == b'/').next().is_some_and(|name| name.starts_with(b"ld-musl-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn musl_is_known_by_its_loader() {
        assert!(is_musl(b"7f0 r-xp 00014000 08:01 264 /lib/ld-musl-x86_64.so.1"));
        assert!(!is_musl(b"7f0 r-xp 00014000 08:01 264 /usr/lib/x86_64-linux-gnu/libc.so.6"));
        assert!(!is_musl(b"7f0 r-xp 00014000 08:01 264 /opt/ld-musl-tools/libfoo.so"));
        assert!(!is_musl(b"7f0 rw-p 00000000 00:00 0"));
    }

    #[test]
    fn the_agent_suits_this_process() {
        assert!(check(&Process::this()).is_ok());
    }
}
