//! The JSON form of a process, and its words.

use std::time::Duration;

use discovery::{DotnetProcess, Off, Reach, Scan};
use process_view::TaskState;
use serde::Serialize;

/// Name and version of the JSON form.
const SCHEMA: &str = "drdotnet.ps/1";

/// `drdotnet ps --json`
#[derive(Serialize)]
pub struct List {
    schema: &'static str,
    processes: Vec<ProcessRow>,
    stale_sockets: usize,
}

impl From<&Scan> for List {
    fn from(scan: &Scan) -> List {
        List {
            schema: SCHEMA,
            processes: scan.processes.iter().map(ProcessRow::from).collect(),
            stale_sockets: scan.stale_sockets,
        }
    }
}

/// One process in JSON; what is unknown is null.
#[derive(Serialize)]
pub struct ProcessRow {
    pid: u32,
    /// Pid as the process knows itself.
    pid_in_namespace: u32,
    name: String,
    runtime_version: Option<String>,
    runtime_identifier: Option<String>,
    architecture: Option<String>,
    user: Option<String>,
    user_id: Option<u32>,
    started_at: Option<String>,
    uptime_seconds: Option<f64>,
    cpu_seconds: Option<f64>,
    cpu_percent_of_lifetime: Option<f64>,
    memory_bytes: Option<u64>,
    threads: Option<u64>,
    container: Option<String>,
    command_line: String,
    socket: Option<String>,
    /// `ready`, `no-answer`, `forbidden`, `diagnostics-off` or `broken`.
    status: &'static str,
    problem: Option<String>,
}

impl From<&DotnetProcess> for ProcessRow {
    fn from(process: &DotnetProcess) -> ProcessRow {
        ProcessRow {
            pid: process.pid.0,
            pid_in_namespace: process.pid_inside,
            name: process.name.clone(),
            runtime_version: process.runtime_version.clone(),
            runtime_identifier: process.runtime_identifier.clone(),
            architecture: process.architecture.clone(),
            user: process.user.as_ref().map(discovery::User::shown),
            user_id: process.user.as_ref().map(|user| user.id),
            started_at: process.started_at.map(|moment| moment.to_string()),
            uptime_seconds: process.uptime.map(|time| time.as_secs_f64()),
            cpu_seconds: process.cpu.map(|time| time.as_secs_f64()),
            cpu_percent_of_lifetime: process.cpu_percent(),
            memory_bytes: process.memory,
            threads: process.threads,
            container: process.container.clone(),
            command_line: process.command_line.clone(),
            socket: process.endpoint.as_ref().map(|endpoint| endpoint.path().display().to_string()),
            status: status_word(&process.reach),
            problem: reach_words(process),
        }
    }
}

fn status_word(reach: &Reach) -> &'static str {
    match reach {
        Reach::Ready => "ready",
        Reach::NoAnswer { .. } => "no-answer",
        Reach::Forbidden => "forbidden",
        Reach::Off(_) => "diagnostics-off",
        Reach::Broken { .. } => "broken",
    }
}

/// What is wrong and what it needs, in one phrase.
pub fn reach_words(process: &DotnetProcess) -> Option<String> {
    Some(match &process.reach {
        Reach::Ready => return None,
        Reach::NoAnswer { .. } => match process.state {
            Some(TaskState::Stopped) => "no answer; stopped by a signal (SIGSTOP)".to_owned(),
            Some(TaskState::Traced) => "no answer; held by a debugger".to_owned(),
            _ => "no answer; hangs, or serves another tool".to_owned(),
        },
        Reach::Forbidden => match &process.user {
            Some(user) if user.id != 0 => format!("to reach it, run this as {} or as root", user.shown()),
            _ => "to reach it, run this as root".to_owned(),
        },
        Reach::Off(Off::Variable(variable)) => format!("diagnostics are off ({variable})"),
        Reach::Off(Off::NoSocket { .. }) => "no diagnostics socket; it is off or was cleaned away".to_owned(),
        Reach::Broken { problem } => problem.clone(),
    })
}

/// An age in one unit: `12s`, `3m`, `2h`, `5d`.
pub fn short_age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86400),
    }
}
