//! `drdotnet stack`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::OneTarget;

/// How `drdotnet stack` is called.
pub const USAGE: &str = "drdotnet stack [OPTIONS] <PID|NAME>
       drdotnet stack [OPTIONS] -p <PID>
       drdotnet stack [OPTIONS] -n <NAME>";

/// What `drdotnet stack --help` ends with.
pub const HELP: &str = "\
An agent is loaded into the process, takes all stacks at one instant (a pause of
milliseconds), and leaves. It works when the thread pool is starved or the
machine is busy. Threads that only wait for work are folded into one line.

Examples:
  drdotnet stack -p 4242
  drdotnet stack -n Shop.Api --threads    every thread in a line of its own
  drdotnet stack -p 4242 --idle --framework --native   nothing left out
  drdotnet stack -p 4242 --json > stacks.json
  drdotnet sessions export last --format html";

/// `drdotnet stack`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct StackArgs {
    #[command(subcommand)]
    pub action: Option<StackAction>,
    #[command(flatten)]
    pub options: StackOptions,
}

/// As dotnet-stack is called.
#[derive(Debug, Subcommand)]
pub enum StackAction {
    /// The same, as dotnet-stack spells it
    #[command(hide = true)]
    Report(StackOptions),
}

/// What is shown of which process.
#[derive(Debug, Args)]
pub struct StackOptions {
    #[command(flatten)]
    pub target: OneTarget,
    /// Show threads that only wait for work, and those without .NET code, too
    #[arg(long)]
    pub idle: bool,
    /// Show the framework's inner methods in the tree, too
    #[arg(long)]
    pub framework: bool,
    /// Show native and kernel frames of threads that wait in full stacks, too
    #[arg(long)]
    pub native: bool,
    /// List every thread, too
    #[arg(long)]
    pub threads: bool,
    /// How many different stacks to print in full
    #[arg(long, value_name = "N", default_value = "10")]
    pub top: String,
    /// Keep the session in this folder, new or empty [default: the user's own]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}
