//! `drdotnet trace`

use clap::{Args, Subcommand};

use super::trace_convert::{ConvertArgs, ReportArgs};

/// `drdotnet trace`
#[derive(Debug, Args)]
pub struct TraceArgs {
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// What to do with traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Write the stacks of a trace for a viewer: Speedscope, flame graph, pprof...
    Convert(ConvertArgs),
    /// Say what is in a trace, or which methods took most
    Report(ReportArgs),
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
