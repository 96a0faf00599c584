//! `drdotnet heap`

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use model::ProcessId;

use super::target::process_id;

/// How `drdotnet heap` is called.
pub const USAGE: &str = "drdotnet heap [OPTIONS] <HEAP>
       drdotnet heap [OPTIONS] -p <PID>
       drdotnet heap [OPTIONS] -n <NAME>
       drdotnet heap [OPTIONS] -- <COMMAND>...
       drdotnet heap types <HEAP> --filter <TEXT>
       drdotnet heap paths <HEAP> --type <TYPE>
       drdotnet heap diff <BEFORE> <AFTER>";

/// What `drdotnet heap --help` ends with.
pub const HELP: &str = "\
A HEAP is a process (its id or name), a saved session (its id, the beginning of
it, or last), a .gcdump file, or a core dump. The heap of a process is taken by
the way that stops it least, and kept as a session, so that it can be looked at
again without stopping the process again. A pause that may be longer than 1 s is
announced and asked for, with --allow-pause.

Examples:
  drdotnet heap -p 4242                       what its memory is made of
  drdotnet heap types last --filter Shop.     the types of one's own code
  drdotnet heap paths last --type Shop.Order  what holds them
  drdotnet heap diff last 4242                what has grown since then
  drdotnet heap before.gcdump                 the same of a file";

/// `drdotnet heap`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct HeapArgs {
    #[command(subcommand)]
    pub action: Option<HeapAction>,
    #[command(flatten)]
    pub whose: WhoseOrCommand,
    /// With a COMMAND: how long it runs before its heap is looked at
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub after: String,
    /// How many types to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    #[command(flatten)]
    pub taking: Taking,
}

/// What else to do with heaps.
#[derive(Debug, Subcommand)]
pub enum HeapAction {
    /// List the types on a heap, by what they hold
    #[command(override_usage = "drdotnet heap types [OPTIONS] <HEAP>
       drdotnet heap types [OPTIONS] -p <PID>
       drdotnet heap types [OPTIONS] -n <NAME>")]
    Types(TypesArgs),
    /// Show what holds the objects of a type
    #[command(override_usage = "drdotnet heap paths [OPTIONS] --type <TYPE> <HEAP>
       drdotnet heap paths [OPTIONS] --type <TYPE> -p <PID>
       drdotnet heap paths [OPTIONS] --type <TYPE> -n <NAME>")]
    Paths(PathsArgs),
    /// Show what grew from one heap to a later one
    Diff(DiffArgs),
}

/// `drdotnet heap types`
#[derive(Debug, Args)]
pub struct TypesArgs {
    #[command(flatten)]
    pub whose: Whose,
    /// Only types with this in their names, in whatever case
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub filter: String,
    /// How many types to show
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub top: usize,
    #[command(flatten)]
    pub taking: Taking,
}

/// `drdotnet heap paths`
#[derive(Debug, Args)]
pub struct PathsArgs {
    #[command(flatten)]
    pub whose: Whose,
    /// The type: its full name, the end of it, or a part that only one has
    #[arg(long = "type", value_name = "TYPE")]
    pub type_name: String,
    /// How many ways to show
    #[arg(long, visible_alias = "limit", value_name = "N", default_value_t = 10)]
    pub top: usize,
    #[command(flatten)]
    pub taking: Taking,
}

/// `drdotnet heap diff`
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The earlier heap: a session, a file, or a process
    #[arg(value_name = "BEFORE")]
    pub before: String,
    /// The later heap: a session, a file, or a process as it is now
    #[arg(value_name = "AFTER")]
    pub after: String,
    /// How many types to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    #[command(flatten)]
    pub taking: Taking,
}

/// How the heap of a process is taken, and where its session goes.
#[derive(Debug, Args)]
pub struct Taking {
    /// Let the process stand still for longer than 1 s, if its heap needs that
    #[arg(long)]
    pub allow_pause: bool,
    /// Make a full collection first, so that no garbage is counted
    #[arg(long)]
    pub collect: bool,
    /// Give up when the process sends nothing for this long
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub timeout: String,
    /// Keep the session in this folder, new or empty [default: the user's own]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// Whose heap.
#[derive(Debug, Args)]
#[group(id = "whose", required = true, multiple = false)]
pub struct Whose {
    /// A process, a saved session, a .gcdump file or a core dump
    #[arg(value_name = "HEAP")]
    pub heap: Option<String>,
    /// The process with this id
    #[arg(short, long, visible_alias = "pid", value_name = "PID", value_parser = process_id)]
    pub process_id: Option<ProcessId>,
    /// The process with this name (entry assembly or executable)
    #[arg(short, long)]
    pub name: Option<String>,
}

/// Whose heap, or a program to start.
#[derive(Debug, Args)]
#[group(id = "whose_or_command", required = true, multiple = false)]
pub struct WhoseOrCommand {
    /// A process, a saved session, a .gcdump file or a core dump
    #[arg(value_name = "HEAP")]
    pub heap: Option<String>,
    /// The process with this id
    #[arg(short, long, visible_alias = "pid", value_name = "PID", value_parser = process_id)]
    pub process_id: Option<ProcessId>,
    /// The process with this name (entry assembly or executable)
    #[arg(short, long)]
    pub name: Option<String>,
    /// Start this program, look at it, and stop it afterwards
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
