//! `drdotnet gcdump`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::target::OneTarget;

const COLLECT_USAGE: &str = "drdotnet gcdump collect [OPTIONS] <PID|NAME>
       drdotnet gcdump collect [OPTIONS] -p <PID>
       drdotnet gcdump collect [OPTIONS] -n <NAME>";

const REPORT_USAGE: &str = "drdotnet gcdump report [OPTIONS] <FILE>
       drdotnet gcdump report [OPTIONS] -p <PID>
       drdotnet gcdump report [OPTIONS] -n <NAME>";

/// `drdotnet gcdump`
#[derive(Debug, Args)]
pub struct GcdumpArgs {
    #[command(subcommand)]
    pub command: GcdumpCommand,
}

/// What to do with a heap.
#[derive(Debug, Subcommand)]
pub enum GcdumpCommand {
    /// Write the heap of a process to a .gcdump file: forces a full collection
    #[command(override_usage = COLLECT_USAGE)]
    Collect(CollectArgs),
    /// What is on a heap, and what holds it
    #[command(override_usage = REPORT_USAGE)]
    Report(ReportArgs),
    /// What grew from one .gcdump file to a later one
    Diff(DiffArgs),
    /// What holds the objects of a type
    Paths(PathsArgs),
}

/// How a heap is collected.
#[derive(Debug, Args)]
pub struct Collecting {
    /// Go at once, however long the pause may be
    #[arg(short, long)]
    pub yes: bool,
    /// Give up when the process sends nothing for this long
    #[arg(short, long, value_name = "TIME", default_value = "10m")]
    pub timeout: String,
    /// Room for events in the process, in MB [default: a quarter of what is free, 64 to 1024]
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub buffer: Option<u32>,
}

/// `drdotnet gcdump collect`
#[derive(Debug, Args)]
pub struct CollectArgs {
    #[command(flatten)]
    pub target: OneTarget,
    /// The file to write [default: yyyyMMdd_HHmmss_PID.gcdump here]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub collecting: Collecting,
    /// Say more
    #[arg(short, long)]
    pub verbose: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `drdotnet gcdump report`
#[derive(Debug, Args)]
#[group(id = "heap", required = true, multiple = false, args = ["file", "process_id", "name"])]
pub struct ReportArgs {
    /// A .gcdump file
    pub file: Option<PathBuf>,
    /// Collect from the process with this id instead of reading a file
    #[arg(short, long, visible_alias = "pid", value_name = "PID", value_parser = super::target::process_id)]
    pub process_id: Option<model::ProcessId>,
    /// Collect from the process with this name instead of reading a file
    #[arg(short, long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub collecting: Collecting,
    /// How many types to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `drdotnet gcdump diff`
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The earlier file
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// The later file
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// How many types to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `drdotnet gcdump paths`
#[derive(Debug, Args)]
pub struct PathsArgs {
    /// A .gcdump file
    pub file: PathBuf,
    /// The type: its full name, the end of it, or a part that only one has
    #[arg(long = "type", value_name = "TYPE")]
    pub type_name: String,
    /// How many ways to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub limit: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
