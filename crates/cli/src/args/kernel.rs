//! `drdotnet cpu` and `drdotnet off-cpu`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::cpu_diff::CpuDiffArgs;
use super::target::AnyTarget;

/// How `drdotnet cpu` is called.
pub const CPU_USAGE: &str = "drdotnet cpu [OPTIONS] <PID|NAME>
       drdotnet cpu [OPTIONS] -p <PID>
       drdotnet cpu [OPTIONS] -n <NAME>
       drdotnet cpu [OPTIONS] --all
       drdotnet cpu [OPTIONS] -- <COMMAND>...
       drdotnet cpu diff <BEFORE> <AFTER>";

/// How `drdotnet off-cpu` is called.
pub const OFF_CPU_USAGE: &str = "drdotnet off-cpu [OPTIONS] <PID|NAME>
       drdotnet off-cpu [OPTIONS] -p <PID>
       drdotnet off-cpu [OPTIONS] -n <NAME>
       drdotnet off-cpu [OPTIONS] --all
       drdotnet off-cpu [OPTIONS] -- <COMMAND>...";

/// What `drdotnet cpu --help` ends with.
pub const CPU_EXAMPLES: &str = "\
It takes the most that this user may have: the kernel's samples of all code, of
user code only, or else the runtime's own samples. It says which, what is
missing from the picture, and the command that would add it.

Examples:
  drdotnet cpu -p 4242                       30 s, then a flame graph
  drdotnet cpu -n Shop.Api -d 10s --rate 999
  drdotnet cpu -p 4242 --with-off-cpu        running and waiting in one picture
  drdotnet cpu --all -d 10s                  every .NET process of this machine
  drdotnet cpu -p 4242 --format html,pprof -o incident-17
  drdotnet cpu -- dotnet App.dll             from its first method on
  drdotnet cpu diff 20261115-0512 last       what got slower between two runs";

/// What `drdotnet off-cpu --help` ends with.
pub const OFF_CPU_EXAMPLES: &str = "\
Waits for work, for the next request or for a timer are folded away; --set
idle=show lists them. Without the rights to see where threads wait it takes the
runtime's own samples, says so, and names the command that helps.

Examples:
  drdotnet off-cpu -p 4242                   30 s, then a flame graph
  drdotnet off-cpu -n Shop.Api -d 10s --set idle=show
  drdotnet off-cpu --all -d 10s              every .NET process of this machine";

/// `drdotnet cpu`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct CpuArgs {
    #[command(subcommand)]
    pub action: Option<CpuAction>,
    #[command(flatten)]
    pub target: AnyTarget,
    /// How long to look: 10, 10s, 2m, 00:00:10
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    pub duration: String,
    /// Samples per second of each running thread, 1 to 10,000
    #[arg(short, long, value_name = "HZ", default_value = "99")]
    pub rate: String,
    /// Show where threads wait, too
    #[arg(long)]
    pub with_off_cpu: bool,
    #[command(flatten)]
    pub recording: RecordingArgs,
}

/// What else to do with profiles of the processor.
#[derive(Debug, Subcommand)]
pub enum CpuAction {
    /// Compare two profiles: what got slower, what got faster
    Diff(CpuDiffArgs),
}

/// `drdotnet off-cpu`
#[derive(Debug, Args)]
pub struct OffCpuArgs {
    #[command(flatten)]
    pub target: AnyTarget,
    /// How long to look: 10, 10s, 2m, 00:00:10
    #[arg(short, long, value_name = "TIME", default_value = "30s")]
    pub duration: String,
    #[command(flatten)]
    pub recording: RecordingArgs,
}

/// What both have.
#[derive(Debug, Args)]
pub struct RecordingArgs {
    /// Look at processes that it starts, too
    #[arg(long)]
    pub children: bool,
    /// Show frames of the kernel, as it does unless told otherwise
    #[arg(long, overrides_with = "no_kernel")]
    pub kernel_frames: bool,
    /// Leave frames of the kernel out
    #[arg(long, visible_alias = "no-kernel-frames", overrides_with = "kernel_frames")]
    pub no_kernel: bool,
    /// Set a parameter (drdotnet profilers cpu, off-cpu); may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
    /// Files to write into the session, with commas between: html, drprof,
    /// flamegraph, folded, speedscope, chromium, pprof, firefox, perf-script
    /// [default: html,drprof]
    #[arg(long, value_name = "LIST")]
    pub format: Option<String>,
    /// Keep the session in this folder, new or empty [default: the user's own]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}
