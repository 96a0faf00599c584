//! `drdotnet checkup`

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use model::ProcessId;

use super::target::{Which, process_id};

pub const USAGE: &str = "drdotnet checkup [OPTIONS] <PID|NAME>
       drdotnet checkup [OPTIONS] -p <PID>
       drdotnet checkup [OPTIONS] -n <NAME>
       drdotnet checkup [OPTIONS] --all
       drdotnet checkup [OPTIONS] -- <COMMAND>...";

pub const HELP: &str = "\
It looks at everything that is cheap for 4 s, then closer where something is
off, and says what is wrong, where, how sure it is, and what to do. Nothing
stops the program for longer than 100 ms, unless --allow-pause is given.

Exit code: 0 healthy, 48 something of severity warning or critical was found,
any other: it could not be examined (docs/troubleshooting.md).

Examples:
  drdotnet checkup -p 4242
  drdotnet checkup -n Shop.Api --json > report.json
  drdotnet checkup --all
  drdotnet checkup -p 4242 --watch
  drdotnet checkup -- dotnet App.dll";

/// `drdotnet checkup`
#[derive(Debug, Args)]
pub struct CheckupArgs {
    #[command(flatten)]
    pub target: CheckupTarget,
    /// Allow looks that stop the program for longer than 100 ms
    #[arg(long)]
    pub allow_pause: bool,
    /// Take longer, and look at everything
    #[arg(long)]
    pub deep: bool,
    /// Repeat until Ctrl+C, and say what has changed
    #[arg(long, conflicts_with_all = ["json", "output", "all"])]
    pub watch: bool,
    /// Keep the session in this folder, new or empty [default: the user's own]
    #[arg(short, long, value_name = "DIR", conflicts_with = "all")]
    pub output: Option<PathBuf>,
    /// Print the report as JSON; with --all an array of reports
    #[arg(long)]
    pub json: bool,
}

/// A running process, all of them, or a program to start.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct CheckupTarget {
    /// The process with this id or name
    #[arg(value_name = "PID|NAME")]
    pub process: Option<String>,
    /// The process with this id
    #[arg(short, long, visible_alias = "pid", value_name = "PID", value_parser = process_id)]
    pub process_id: Option<ProcessId>,
    /// The process with this name (entry assembly or executable)
    #[arg(short, long)]
    pub name: Option<String>,
    /// Every .NET process that this user can reach
    #[arg(long)]
    pub all: bool,
    /// Start this program, look at it, and stop it afterwards
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl CheckupTarget {
    /// The running process that is meant.
    pub fn which(&self) -> Which {
        Which::new(self.process_id, self.name.as_ref(), self.process.as_ref())
    }
}
