//! `drdotnet sessions`

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `drdotnet sessions`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SessionsArgs {
    #[command(subcommand)]
    pub command: Option<SessionCommand>,
    #[command(flatten)]
    pub list: ListArgs,
}

/// What to do with earlier runs.
#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// List earlier runs, newest first
    List(ListArgs),
    /// Show the report of one
    Show(ShowArgs),
    /// Open the report of one in the browser
    Open(OpenArgs),
    /// Put all of one into an archive, or its report into a file
    Export(ExportArgs),
    /// Remove some
    Rm(RemoveArgs),
}

/// `drdotnet sessions list`
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `drdotnet sessions show`
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Id, its unique beginning, `last`, or the path of a session folder
    #[arg(default_value = "last")]
    pub session: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `drdotnet sessions open`
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// Id, its unique beginning, `last`, or the path of a session folder
    #[arg(default_value = "last")]
    pub session: String,
}

/// `drdotnet sessions export`
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Id, its unique beginning, `last`, or the path of a session folder
    #[arg(default_value = "last")]
    pub session: String,
    /// zip for all of it, or terminal, markdown, html or json for the report
    /// alone [default: as FILE is called; without one zip]
    #[arg(short, long)]
    pub format: Option<String>,
    /// Write to this file [default: ID.zip here for an archive, standard output
    /// for a report]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `drdotnet sessions rm`
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct RemoveArgs {
    /// Ids, their unique beginnings, or `last`
    pub sessions: Vec<String>,
    /// All that are older than this, such as 7d
    #[arg(long, value_name = "TIME", conflicts_with = "sessions")]
    pub older_than: Option<String>,
    /// All that are not running
    #[arg(long, conflicts_with_all = ["sessions", "older_than"])]
    pub all: bool,
}
