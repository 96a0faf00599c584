//! The whole machine at one look.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use diagnostics_ipc::{Endpoint, IpcError};
use model::ProcessId;
use process_view::{Clock, Process, TaskState, process_ids};

use crate::SocketName;
use crate::describe::{describe, runs_dotnet};
use crate::linux::{Located, locate, own_folders, sockets_in};
use crate::probe::{is_gone, probe_all};
use crate::process::{DotnetProcess, Off, Reach};

/// Environment variables that switch the diagnostics socket off, under both prefixes.
const OFF_SWITCHES: [&str; 2] = ["EnableDiagnostics", "EnableDiagnostics_IPC"];

/// How to look.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long one process may take to answer.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options { timeout: Duration::from_secs(1) }
    }
}

/// The result of a look at the whole machine.
#[derive(Debug)]
pub struct Scan {
    /// What was found, by pid.
    pub processes: Vec<DotnetProcess>,
    /// Sockets in our temp folders that ended processes left behind.
    pub stale_sockets: usize,
}

/// Every .NET process that can be seen, by pid.
#[must_use]
pub fn discover(options: &Options) -> Vec<DotnetProcess> {
    scan(options).processes
}

/// Like [`discover`], with what else was seen.
#[must_use]
pub fn scan(options: &Options) -> Scan {
    let clock = Clock::now();
    let mut explained = HashSet::new();
    let mut found: Vec<DotnetProcess> = Vec::new();
    for pid in process_ids().unwrap_or_default() {
        if let Some((process, name)) = look_at(pid, &clock) {
            explained.extend(name);
            found.push(process);
        }
    }
    let stale_sockets = add_unexplained(&mut found, &explained, &clock);
    probe_all(&mut found, options.timeout);
    found.retain(|process| !matches!(process.reach, Reach::Broken { .. }) || !is_gone(process));
    found.sort_by_key(|process| (process.pid, process.pid_inside));
    Scan { processes: found, stale_sockets }
}

/// One process of /proc: `None` when it is not .NET, or gone, or the kernel's own.
pub(crate) fn look_at(pid: ProcessId, clock: &Clock) -> Option<(DotnetProcess, Option<SocketName>)> {
    let process = Process::new(pid);
    let stat = process.stat().ok()?;
    // A runtime starts threads before any socket, so a process with a single one has none. This spares most
    // of the work on a busy machine.
    let ended = matches!(stat.state, TaskState::Zombie | TaskState::Dead);
    if stat.is_kernel_thread() || ended || stat.threads < 2 {
        return None;
    }
    let status = process.status().ok()?;
    match locate(&process, &stat, &status) {
        Located::Socket(endpoint, name) => {
            let mut found = describe(&process, &stat, &status, clock);
            found.endpoint = Some(endpoint);
            Some((found, Some(name)))
        }
        Located::Nothing { expected, environment } => {
            process.runtime_mark()?;
            let mut found = describe(&process, &stat, &status, clock);
            let switch = environment.as_deref().and_then(off_switch);
            let expected = expected.display().to_string();
            found.reach = Reach::Off(switch.map_or(Off::NoSocket { expected }, Off::Variable));
            crate::describe::fill_from_kernel(&mut found, &process);
            Some((found, None))
        }
        Located::Forbidden => {
            // 3.1 does not name its threads; then the command line, which everybody may read, must tell.
            if process.runtime_thread().is_none() && !runs_dotnet(&process.arguments().unwrap_or_default()) {
                return None;
            }
            let mut found = describe(&process, &stat, &status, clock);
            found.reach = Reach::Forbidden;
            Some((found, None))
        }
    }
}

fn off_switch(environment: &[(String, String)]) -> Option<String> {
    environment.iter().find_map(|(name, value)| {
        let setting = name.strip_prefix("DOTNET_").or_else(|| name.strip_prefix("COMPlus_"))?;
        let known = OFF_SWITCHES.iter().any(|switch| switch.eq_ignore_ascii_case(setting));
        (known && is_zero(value)).then(|| format!("{name}={value}"))
    })
}

/// Whether a setting of the runtime, which is a hexadecimal number, is zero.
pub(crate) fn is_zero(value: &str) -> bool {
    let digits = value.trim().trim_start_matches("0x");
    !digits.is_empty() && digits.bytes().all(|digit| digit == b'0')
}

/// Sockets in our own temp folders that no process of /proc explains: left behind, or of a process in a pid
/// namespace that shares the folder (a sidecar). Who answers lives. Returns the number of those left behind.
fn add_unexplained(found: &mut Vec<DotnetProcess>, explained: &HashSet<SocketName>, clock: &Clock) -> usize {
    let mut stale = 0;
    let mut seen = HashSet::new();
    for folder in own_folders() {
        for name in sockets_in(&folder) {
            if explained.contains(&name) || !seen.insert(name) {
                continue;
            }
            match living(&folder, name, found, clock) {
                Living::Process(process) => found.push(*process),
                Living::Stale => stale += 1,
                Living::Known | Living::Unknown => {}
            }
        }
    }
    stale
}

enum Living {
    Process(Box<DotnetProcess>),
    Known,
    Stale,
    Unknown,
}

fn living(folder: &Path, name: SocketName, found: &mut [DotnetProcess], clock: &Clock) -> Living {
    /// Connecting to a local socket works at once, or its queue is full; that is not waited for.
    const CONNECT: Duration = Duration::ZERO;
    let endpoint = Endpoint::at(folder.join(name.to_string()));
    match endpoint.listener(CONNECT) {
        Ok(Some(pid)) => {
            let endpoint = endpoint.expecting(pid);
            if let Some(known) = found.iter_mut().find(|process| process.pid == pid) {
                if known.pid_inside != name.pid {
                    return Living::Unknown;
                }
                // Its clock differs from ours (a time namespace), so its name was not the one we computed.
                known.endpoint.get_or_insert(endpoint);
                return Living::Known;
            }
            let process = Process::new(pid);
            let (Ok(stat), Ok(status)) = (process.stat(), process.status()) else { return Living::Unknown };
            // A runtime names its socket after itself. Whoever listens under another pid is no runtime.
            if status.ids.innermost().unwrap_or(pid.0) != name.pid {
                return Living::Unknown;
            }
            let mut seen = describe(&process, &stat, &status, clock);
            seen.endpoint = Some(endpoint);
            Living::Process(Box::new(seen))
        }
        Ok(None) => Living::Process(Box::new(unseen(name, endpoint))),
        Err(IpcError::Connect { source, .. }) if source.kind() == std::io::ErrorKind::ConnectionRefused => {
            Living::Stale
        }
        Err(_) => Living::Unknown,
    }
}

/// A process that answers from a pid namespace that we do not see.
fn unseen(name: SocketName, endpoint: Endpoint) -> DotnetProcess {
    DotnetProcess {
        pid: ProcessId(name.pid),
        pid_inside: name.pid,
        visible: false,
        reach: Reach::Ready,
        name: String::new(),
        runtime_version: None,
        architecture: None,
        runtime_identifier: None,
        user: None,
        state: None,
        start_ticks: None,
        started_at: None,
        uptime: None,
        cpu: None,
        memory: None,
        threads: None,
        container: Some("other pid-ns".to_owned()),
        arguments: Vec::new(),
        command_line: String::new(),
        redaction: model::Redaction::Off,
        endpoint: Some(endpoint),
        info: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_off_switches_are_recognised() {
        let environment = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        for (name, value, off) in [
            ("DOTNET_EnableDiagnostics", "0", true),
            ("COMPlus_EnableDiagnostics", "00", true),
            ("DOTNET_EnableDiagnostics_IPC", "0x0", true),
            ("DOTNET_EnableDiagnostics", "1", false),
            ("DOTNET_EnableDiagnostics_Profiler", "0", false),
            ("DOTNET_EnableDiagnostics", "", false),
        ] {
            assert_eq!(off_switch(&environment(name, value)).is_some(), off, "{name}={value}");
        }
    }
}
