//! Which process is meant.

use std::ffi::OsString;

use clap::Args;
use model::ProcessId;

fn process_id(text: &str) -> Result<ProcessId, String> {
    text.parse().map_err(|_| "a process id is a number; -n NAME selects by name".to_owned())
}

/// A running process.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct OneTarget {
    /// The process with this id
    #[arg(short, long, visible_alias = "pid", value_name = "PID", value_parser = process_id)]
    pub process_id: Option<ProcessId>,
    /// The process with this name (entry assembly or executable)
    #[arg(short, long)]
    pub name: Option<String>,
}

/// A running process, or a program to start.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct RunTarget {
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
