//! `drdotnet dump`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use core_dumps::DumpKind;

use super::target::OneTarget;

const COLLECT_USAGE: &str = "drdotnet dump collect [OPTIONS] <PID|NAME>
       drdotnet dump collect [OPTIONS] -p <PID>
       drdotnet dump collect [OPTIONS] -n <NAME>";

/// `drdotnet dump`
#[derive(Debug, Args)]
pub struct DumpArgs {
    #[command(subcommand)]
    pub command: DumpCommand,
}

/// What to do about core dumps.
#[derive(Debug, Subcommand)]
pub enum DumpCommand {
    /// Let a process write a core dump of itself: it stands still meanwhile
    #[command(override_usage = COLLECT_USAGE)]
    Collect(DumpCollectArgs),
}

/// `drdotnet dump collect`
#[derive(Debug, Args)]
pub struct DumpCollectArgs {
    #[command(flatten)]
    pub target: OneTarget,
    /// How much: Full (all memory), Heap, Mini (stacks), Triage (stacks, no personal data)
    #[arg(long = "type", value_name = "TYPE", default_value = "Full", value_parser = kind)]
    pub kind: DumpKind,
    /// The file, as the process sees it [default: core_yyyyMMdd_HHmmss here]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Let the runtime log to the console of the process
    #[arg(long)]
    pub diag: bool,
    /// Also write FILE.crashreport.json (.NET 6)
    #[arg(long)]
    pub crashreport: bool,
    /// Give up waiting after this time
    #[arg(short, long, value_name = "TIME", default_value = "30m")]
    pub timeout: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn kind(text: &str) -> Result<DumpKind, String> {
    core_dumps::parse_kind(text).ok_or_else(|| "it is Full, Heap, Mini or Triage".to_owned())
}
