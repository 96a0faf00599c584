//! `drdotnet cpu diff`

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  drdotnet cpu diff 20261115-0512 last
  drdotnet cpu diff before.drprof after.drprof -o diff.html
  drdotnet cpu diff old.folded new.folded --by total -o diff.svg";

/// What makes two profiles comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ByChoice {
    /// Time each second: for runs under the same load
    Time,
    /// Share of all: for runs under different loads
    Total,
}

/// `drdotnet cpu diff`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CpuDiffArgs {
    /// The earlier one: a session, or a file (.drprof, folded stacks)
    #[arg(value_name = "BEFORE")]
    pub before: String,
    /// The later one
    #[arg(value_name = "AFTER")]
    pub after: String,
    /// Write to this file: .html or .svg draws the change, .md, .txt and .json
    /// are the report [default: the report, here]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Compare by time (same load) or by total (share of all) [default: time,
    /// where both tell how long they took]
    #[arg(long, value_enum, value_name = "WHAT", hide_possible_values = true)]
    pub by: Option<ByChoice>,
    /// Which time: on-cpu, off-cpu or ready
    #[arg(long, value_name = "SIDE", default_value = "on-cpu")]
    pub side: String,
    /// How many methods to show in each table
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub top: usize,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}
