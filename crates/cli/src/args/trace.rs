//! `drdotnet trace`

use clap::{Args, Subcommand};

/// `drdotnet trace`
#[derive(Debug, Args)]
pub struct TraceArgs {
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// What to do with traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// List the sets of events that can be recorded by name
    ListProfiles(ListProfilesArgs),
}

/// `drdotnet trace list-profiles`
#[derive(Debug, Args)]
pub struct ListProfilesArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
