//! A .NET process as discovery sees it.

use std::time::Duration;

use diagnostics_ipc::{Client, Endpoint, ProcessInfo};
use model::{ProcessId, Redaction, Target, Timestamp};
use process_view::TaskState;

use crate::secrets::{conceal_command_line, redact_arguments};

/// The user a process runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Number.
    pub id: u32,
    /// Name, when this machine knows it.
    pub name: Option<String>,
}

impl User {
    /// The name, or else the number.
    #[must_use]
    pub fn shown(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.to_string())
    }
}

/// Why a runtime has no socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Off {
    /// This environment variable switches diagnostics off.
    Variable(String),
    /// No socket where it should be, and no variable that explains it.
    NoSocket {
        /// Where it should be.
        expected: String,
    },
}

/// How a process can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It answers.
    Ready,
    /// Its socket accepts connections, but nobody answers.
    NoAnswer {
        /// How long we waited: not at all for a process that is stopped by a signal.
        waited: Duration,
    },
    /// It belongs to somebody else, or this user lacks a right.
    Forbidden,
    /// Its diagnostics are off.
    Off(Off),
    /// It answered with something that makes no sense, or broke off.
    Broken {
        /// What happened.
        problem: String,
    },
}

/// A .NET process. All texts come from the target: hostile input.
#[derive(Clone, Debug)]
pub struct DotnetProcess {
    /// Its pid; in our namespace, unless `visible` is false.
    pub pid: ProcessId,
    /// Its pid as it knows itself.
    pub pid_inside: u32,
    /// Whether /proc shows it. If not, it shares our temp folder from another pid namespace.
    pub visible: bool,
    /// How it can be reached.
    pub reach: Reach,
    /// Entry assembly, or the best name known.
    pub name: String,
    /// Version of the runtime.
    pub runtime_version: Option<String>,
    /// Architecture in .NET's words.
    pub architecture: Option<String>,
    /// Portable runtime identifier.
    pub runtime_identifier: Option<String>,
    /// Its user.
    pub user: Option<User>,
    /// What its main thread is doing.
    pub state: Option<TaskState>,
    /// Start in clock ticks since boot: with the pid it names a process for good.
    pub start_ticks: Option<u64>,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// How long ago that was.
    pub uptime: Option<Duration>,
    /// Processor time used so far.
    pub cpu: Option<Duration>,
    /// Resident memory in bytes.
    pub memory: Option<u64>,
    /// Number of threads.
    pub threads: Option<u64>,
    /// Container id, or a word for its namespaces.
    pub container: Option<String>,
    /// Its arguments, secrets included.
    pub arguments: Vec<String>,
    /// The same as one line.
    pub command_line: String,
    /// Whether the values in both are hidden.
    pub redaction: Redaction,
    /// Its socket, when one was found.
    pub endpoint: Option<Endpoint>,
    /// What it said of itself.
    pub info: Option<ProcessInfo>,
}

impl DotnetProcess {
    /// The first number of its runtime's version; a 3.1 does not tell.
    #[must_use]
    pub fn runtime_major(&self) -> Option<u32> {
        self.runtime_version.as_deref()?.split('.').next()?.parse().ok()
    }

    /// A client for its runtime, when it has a socket.
    #[must_use]
    pub fn client(&self) -> Option<Client> {
        self.endpoint.clone().map(Client::new)
    }

    /// Processor use since its start, in per cent of one processor.
    #[must_use]
    pub fn cpu_percent(&self) -> Option<f64> {
        let (cpu, uptime) = (self.cpu?, self.uptime?);
        (!uptime.is_zero()).then(|| 100.0 * cpu.as_secs_f64() / uptime.as_secs_f64())
    }

    /// Its command line with what looks like a secret hidden: this form may be shown and kept.
    #[must_use]
    pub fn shown_command_line(&self) -> String {
        match self.redaction {
            Redaction::Off => conceal_command_line(&self.command_line),
            Redaction::On => self.command_line.clone(),
        }
    }

    /// Hides in its command line what looks like a secret, before it is shown.
    pub fn conceal_secrets(&mut self) {
        if self.redaction == Redaction::On {
            return;
        }
        self.command_line = self.shown_command_line();
        self.arguments = self.command_line.split(' ').map(str::to_owned).collect();
    }

    /// Hides in its command line all that is neither its program nor the name of an option.
    pub fn redact(&mut self) {
        if self.arguments.is_empty() {
            self.arguments = self.command_line.split(' ').map(str::to_owned).collect();
        }
        self.arguments = redact_arguments(&self.arguments, Redaction::On);
        self.command_line = self.arguments.join(" ");
        self.redaction = Redaction::On;
        if let Some(info) = &mut self.info {
            info.command_line.clone_from(&self.command_line);
        }
    }

    /// What a report says about its target.
    #[must_use]
    pub fn target(&self) -> Target {
        Target {
            pid: self.pid,
            name: self.name.clone(),
            runtime_version: self.runtime_version.clone(),
            architecture: self.architecture.clone(),
            started_at: self.started_at,
            command_line: Some(self.shown_command_line()).filter(|line| !line.is_empty()),
        }
    }
}
