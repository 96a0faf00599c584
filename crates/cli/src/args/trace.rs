//! `drdotnet trace`

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand, ValueEnum};

use super::CollectTarget;

const COLLECT_USAGE: &str = "drdotnet trace collect [OPTIONS] <PID|NAME>
       drdotnet trace collect [OPTIONS] -p <PID>
       drdotnet trace collect [OPTIONS] -n <NAME>
       drdotnet trace collect [OPTIONS] --diagnostic-port <PATH>
       drdotnet trace collect [OPTIONS] -- <COMMAND>...";

const COLLECT_EXAMPLES: &str = "\
Examples:
  drdotnet trace collect -p 4242 --duration 30s
  drdotnet trace collect -n Shop.Api --profile gc-verbose -o gc.nettrace
  drdotnet trace collect -p 4242 --providers System.Net.Http:0xF:5
  drdotnet trace collect --duration 10s -- dotnet App.dll
  drdotnet trace collect -p 4242 --keep 60s --when 'gc-pause>200ms'

Conditions for --when (quote them, the shell reads > and <):
  cpu>80%                              100 % is one core
  memory>2GB                           resident memory
  heap>500MB                           the garbage collector's heap
  gc-pause>200ms                       all threads stopped for a collection
  exception=System.TimeoutException    thrown, caught or not; Shop.* is any
  counter=System.Runtime/threadpool-queue-length>100
Levels take a time that they must last: 'cpu>80% for 10s'.

A recording is complete however it ends. Exit codes: docs/troubleshooting.md.";

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
    /// Record the events of a process into a .nettrace file
    #[command(override_usage = COLLECT_USAGE, after_help = COLLECT_EXAMPLES)]
    Collect(Box<CollectArgs>),
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

/// A file that is made of the recording besides the recording itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RecordingFormat {
    /// None: the recording alone.
    #[default]
    #[value(alias = "NetTrace", alias = "Nettrace")]
    Nettrace,
    /// For speedscope.app.
    #[value(alias = "Speedscope")]
    Speedscope,
    /// For the tracing page of Chromium.
    #[value(alias = "Chromium")]
    Chromium,
}

/// `drdotnet trace collect`
#[derive(Debug, Args)]
pub struct CollectArgs {
    #[command(flatten)]
    pub target: CollectTarget,

    /// Events by name: dotnet-common, gc-verbose, ...; several with commas. `drdotnet trace list-profiles`
    /// lists them [default: dotnet-common,dotnet-sampled-thread-time]
    #[arg(long, value_name = "NAMES", help_heading = "Events")]
    pub profile: Option<String>,
    /// Events by provider, several with commas: Name[:Keywords[:Level[:key=value;...]]], keywords in hex. They
    /// override those of a profile
    #[arg(long, value_name = "LIST", help_heading = "Events")]
    pub providers: Option<String>,
    /// Events of the runtime by group: gc+exception+contention
    #[arg(long, value_name = "NAMES", help_heading = "Events")]
    pub clrevents: Option<String>,
    /// How much of --clrevents: 0 to 5, or Critical to Verbose [default: 4]
    #[arg(long, value_name = "LEVEL", help_heading = "Events")]
    pub clreventlevel: Option<String>,
    /// Name all methods at the end; without it stacks stay without names [default: as the profile needs it]
    #[arg(long, value_name = "true|false", help_heading = "Events", num_args = 0..=1, default_missing_value = "true")]
    #[arg(action = ArgAction::Set, hide_possible_values = true)]
    pub rundown: Option<bool>,
    /// Megabytes that the runtime may use in the target for events that wait to be sent
    #[arg(long, value_name = "MB", default_value_t = 256, help_heading = "Events")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub buffersize: u32,

    /// Stop after this time: 30, 30s, 5m, 00:00:30, 00:00:00:30
    #[arg(short, long, value_name = "TIME", help_heading = "End")]
    pub duration: Option<String>,
    /// Stop at an event of this provider
    #[arg(long, value_name = "PROVIDER", help_heading = "End")]
    pub stopping_event_provider_name: Option<String>,
    /// Stop at this event only, such as Method/JittingStarted
    #[arg(long, value_name = "EVENT", help_heading = "End", requires = "stopping_event_provider_name")]
    pub stopping_event_event_name: Option<String>,
    /// Stop only if its fields have these values: field:value,field:value
    #[arg(long, value_name = "FIELDS", help_heading = "End", requires = "stopping_event_event_name")]
    pub stopping_event_payload_filter: Option<String>,

    /// Record for ever and keep the last part: 60s, 200MB, or 60s,200MB. It is saved on SIGUSR1 or the key s and
    /// recording goes on; at the end; and on --when
    #[arg(
        long,
        value_name = "AMOUNT",
        help_heading = "Flight recorder",
        conflicts_with = "stopping_event_provider_name"
    )]
    pub keep: Option<String>,
    /// Save when this holds (see below); may be repeated
    #[arg(long, value_name = "CONDITION", help_heading = "Flight recorder", requires = "keep")]
    pub when: Vec<String>,
    /// Stop after so many saves by --when
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Flight recorder", requires = "when")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub saves: u32,

    /// The file to write; one that is there is replaced
    /// [default: PROGRAM_yyyyMMdd_HHmmss.nettrace]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Also make a file for another viewer beside it: speedscope or chromium
    #[arg(long, value_enum, default_value_t, help_heading = "Output", ignore_case = true)]
    #[arg(hide_possible_values = true)]
    pub format: RecordingFormat,
    /// Print what was recorded as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Let the started program use this terminal
    #[arg(long, help_heading = "With -- COMMAND or --diagnostic-port")]
    pub show_child_io: bool,
    /// Whether to let a program run that waits at its start; false leaves that to another tool
    #[arg(
        long,
        value_name = "true|false",
        default_value_t = true,
        help_heading = "With -- COMMAND or --diagnostic-port"
    )]
    #[arg(action = ArgAction::Set, hide_possible_values = true)]
    pub resume_runtime: bool,
}
