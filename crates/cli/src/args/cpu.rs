//! `drdotnet cpu`

use clap::{Args, Subcommand};

use super::cpu_diff::CpuDiffArgs;

/// `drdotnet cpu`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct CpuArgs {
    #[command(subcommand)]
    pub action: Option<CpuAction>,
}

/// What to do with profiles of the processor.
#[derive(Debug, Subcommand)]
pub enum CpuAction {
    /// Compare two profiles: what got slower, what got faster
    Diff(CpuDiffArgs),
}
