//! `drdotnet checkup`

use std::path::PathBuf;

use clap::Args;

use super::target::AnyTarget;

pub const USAGE: &str = "drdotnet checkup [OPTIONS] <PID|NAME>
       drdotnet checkup [OPTIONS] -p <PID>
       drdotnet checkup [OPTIONS] -n <NAME>
       drdotnet checkup [OPTIONS] --all
       drdotnet checkup [OPTIONS] -- <COMMAND>...";

pub const HELP: &str = "\
It looks at everything that is cheap for 4 s, then closer where something is
off, and says what is wrong, where, how sure it is, and what to do. It ends
within 15 s (--deep: about a minute and a half). Without --allow-pause, no look
is taken that is expected to stop the program for longer than 100 ms.

Exit code: 0 healthy, 48 something of severity warning or critical was found,
50 nothing was found, but a runtime could not be asked (--all: or a process not
be examined), any other: it could not be examined (docs/troubleshooting.md).

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
    pub target: AnyTarget,
    /// Allow looks that stop the program for longer than 100 ms
    #[arg(long)]
    pub allow_pause: bool,
    /// Take longer, and look at everything
    #[arg(long)]
    pub deep: bool,
    /// Repeat until Ctrl+C, and say what has changed
    #[arg(long, conflicts_with_all = ["output", "all"])]
    pub watch: bool,
    /// With --watch: the time from one start to the next
    #[arg(long, value_name = "TIME", default_value = "30s", requires = "watch")]
    pub interval: String,
    /// Keep the session in this folder, new or empty [default: the user's own]
    #[arg(short, long, value_name = "DIR", conflicts_with = "all")]
    pub output: Option<PathBuf>,
    /// Keep what was seen in this file too, to be judged again without the process
    #[arg(long, value_name = "FILE", conflicts_with_all = ["watch", "all"])]
    pub keep_case: Option<PathBuf>,
    /// Print the report as JSON; with --all an array of reports, with --watch one a line
    #[arg(long)]
    pub json: bool,
}
