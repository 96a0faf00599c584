//! Which process is meant.

use std::ffi::OsString;

use clap::Args;
use model::ProcessId;

/// A running process, as the user means it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one with this id.
    Pid(ProcessId),
    /// The one with this name.
    Name(String),
}

impl Which {
    pub(super) fn new(pid: Option<ProcessId>, name: Option<&String>, word: Option<&String>) -> Which {
        match (pid, name, word) {
            (Some(pid), _, _) => Which::Pid(pid),
            (_, Some(name), _) => Which::Name(name.clone()),
            (_, _, word) => {
                let word = word.cloned().unwrap_or_default();
                word.parse().map_or(Which::Name(word), Which::Pid)
            }
        }
    }
}

pub(super) fn process_id(text: &str) -> Result<ProcessId, String> {
    text.parse().map_err(|_| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => "no process id is as large as that".to_owned(),
        false => "a process id is a number; -n NAME selects by name".to_owned(),
    })
}

/// A running process.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct OneTarget {
    /// The process with this id or name
    #[arg(value_name = "PID|NAME")]
    pub process: Option<String>,
    /// The process with this id
    #[arg(short, long, visible_alias = "pid", value_name = "PID", value_parser = process_id)]
    pub process_id: Option<ProcessId>,
    /// The process with this name (entry assembly or executable)
    #[arg(short, long)]
    pub name: Option<String>,
}

impl OneTarget {
    /// The process that is meant.
    pub fn which(&self) -> Which {
        Which::new(self.process_id, self.name.as_ref(), self.process.as_ref())
    }
}

/// A running process, a program to start, or a runtime that calls.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct CollectTarget {
    /// The process with this id or name
    #[arg(value_name = "PID|NAME")]
    pub process: Option<String>,
    /// The process with this id
    #[arg(short, long, visible_alias = "pid", value_name = "PID", value_parser = process_id)]
    pub process_id: Option<ProcessId>,
    /// The process with this name (entry assembly or executable)
    #[arg(short, long)]
    pub name: Option<String>,
    /// The runtime that calls this socket (DOTNET_DiagnosticPorts), or with ,connect the one that listens there
    #[arg(long, visible_alias = "dport", value_name = "PATH[,connect]")]
    pub diagnostic_port: Option<String>,
    /// Start this program, record it, and stop it afterwards
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl CollectTarget {
    /// The running process that is meant, when there is neither a program nor a port.
    pub fn which(&self) -> Which {
        Which::new(self.process_id, self.name.as_ref(), self.process.as_ref())
    }
}

/// A running process, or a program to start.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct RunTarget {
    /// The process with this id or name
    #[arg(value_name = "PID|NAME")]
    pub process: Option<String>,
    /// The process with this id
    #[arg(short, long, visible_alias = "pid", value_name = "PID", value_parser = process_id)]
    pub process_id: Option<ProcessId>,
    /// The process with this name (entry assembly or executable)
    #[arg(short, long)]
    pub name: Option<String>,
    /// Start this program, look at it, and stop it afterwards
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl RunTarget {
    /// The running process that is meant, when no program is to be started.
    pub fn which(&self) -> Which {
        Which::new(self.process_id, self.name.as_ref(), self.process.as_ref())
    }
}

/// Running processes, or a program to start.
#[derive(Debug, Args)]
#[group(id = "whose", required = true, multiple = false)]
pub struct AnyTarget {
    /// The process with this id or name
    #[arg(value_name = "PID|NAME")]
    pub process: Option<String>,
    /// The process with this id
    #[arg(short, long, visible_alias = "pid", value_name = "PID", value_parser = process_id)]
    pub process_id: Option<ProcessId>,
    /// The process with this name (entry assembly or executable)
    #[arg(short, long)]
    pub name: Option<String>,
    /// Every .NET process of this machine
    #[arg(long)]
    pub all: bool,
    /// Start this program, look at it, and stop it afterwards
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl AnyTarget {
    /// The running process that is meant, when it is one.
    pub fn which(&self) -> Which {
        Which::new(self.process_id, self.name.as_ref(), self.process.as_ref())
    }
}
