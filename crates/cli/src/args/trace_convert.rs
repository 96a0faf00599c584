//! `drdotnet trace convert` and `drdotnet trace report`: what is made of a trace file.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const CONVERT_HELP: &str = "\
Formats:
  speedscope   speedscope.app: a flame chart for each thread
  chromium     ui.perfetto.dev or chrome://tracing: threads on a time line
  folded       a line for each stack, for grep, diff and flamegraph.pl
  flamegraph   an SVG picture for any browser
  html         a page for any browser: search, zoom, threads, callers
  pprof        go tool pprof
  firefox      profiler.firefox.com
  perf-script  as perf script prints it, for FlameScope and many others

Views:
  thread-time    where threads spent their time, working or waiting
  managed-time   the same without time outside managed code
  allocations    where memory was allocated, in bytes
  contention     where threads waited for locks, in time
  waits          where they waited for anything else (.NET 9 and newer)
  exceptions     where exceptions were thrown
Of a stored profile (.drprof): on-cpu, off-cpu, ready.

Examples:
  drdotnet trace convert app.nettrace
  drdotnet trace convert app.nettrace --format flamegraph --view allocations
  drdotnet trace convert app.nettrace --event My-Provider/RequestStart";

/// Which stacks of a trace.
#[derive(Debug, Args)]
pub struct StacksArgs {
    /// What to look at [default: thread-time, or what the file has most of]
    #[arg(long, value_name = "VIEW")]
    pub view: Option<String>,
    /// Count this event instead; EVENT is a name or a number
    #[arg(long, value_name = "PROVIDER/EVENT", conflicts_with = "view")]
    pub event: Option<String>,
    /// Only this thread, as the operating system numbers it
    #[arg(long, value_name = "ID")]
    pub thread: Option<u64>,
}

/// `drdotnet trace convert`
#[derive(Debug, Args)]
#[command(after_help = CONVERT_HELP)]
pub struct ConvertArgs {
    /// The .nettrace file, or a stored profile (.drprof)
    pub file: PathBuf,
    /// Which format
    #[arg(long, value_name = "FORMAT", default_value = "speedscope")]
    pub format: String,
    /// The file to write, or - for standard output; its extension becomes the
    /// format's [default: beside FILE]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub stacks: StacksArgs,
    /// All threads as one
    #[arg(long, conflicts_with = "per_thread")]
    pub merged: bool,
    /// Each thread for itself
    #[arg(long)]
    pub per_thread: bool,
    /// Say what was written as JSON
    #[arg(long)]
    pub json: bool,
}

/// `drdotnet trace report`
#[derive(Debug, Args)]
#[command(subcommand_value_name = "REPORT", subcommand_help_heading = "Reports")]
pub struct ReportArgs {
    /// The .nettrace file
    pub file: PathBuf,
    /// Which report [default: what is in the file]
    #[command(subcommand)]
    pub report: Option<ReportCommand>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// A report on a trace.
#[derive(Debug, Subcommand)]
pub enum ReportCommand {
    /// The methods that took most
    #[command(name = "topN", visible_alias = "topn")]
    TopN(TopNArgs),
}

/// `drdotnet trace report FILE topN`
#[derive(Debug, Args)]
pub struct TopNArgs {
    /// How many methods
    #[arg(short, long, default_value_t = 5, value_name = "COUNT")]
    pub number: usize,
    /// Sort by what a method took with all it called
    #[arg(long)]
    pub inclusive: bool,
    /// Names in full, with their modules
    #[arg(short, long)]
    pub verbose: bool,
    #[command(flatten)]
    pub stacks: StacksArgs,
}
