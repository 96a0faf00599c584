//! `drdotnet counters`

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use model::ProcessId;

use super::target::{Which, process_id};

const MONITOR_USAGE: &str = "drdotnet counters monitor [OPTIONS] <PID|NAME>...
       drdotnet counters monitor [OPTIONS] -p <PID>[,<PID>...]
       drdotnet counters monitor [OPTIONS] -n <NAME>
       drdotnet counters monitor [OPTIONS] -- <COMMAND>...";

const MONITOR_HELP: &str = "\
A provider is an event source or a meter. If it is both, the meter is taken,
unless EventCounters\\ stands before its name.

Keys:
  q quit   p or space pause   / filter   s sort   d changes
  arrows, PgUp, PgDn, Home, End scroll

Examples:
  drdotnet counters monitor -p 4242
  drdotnet counters monitor -p 4242,4243 --counters Microsoft.AspNetCore.Hosting
  drdotnet counters monitor -n Shop.Api --counters 'System.Runtime[cpu-usage]'
  drdotnet counters monitor -- dotnet App.dll";

const COLLECT_USAGE: &str = "drdotnet counters collect [OPTIONS] <PID|NAME>...
       drdotnet counters collect [OPTIONS] -p <PID>[,<PID>...]
       drdotnet counters collect [OPTIONS] -n <NAME>
       drdotnet counters collect [OPTIONS] -- <COMMAND>...";

const COLLECT_HELP: &str = "\
A provider is an event source or a meter. If it is both, the meter is taken,
unless EventCounters\\ stands before its name.

With several processes, CSV and JSON go to one file each: counter.PID.csv.
Prometheus and OpenMetrics go to one file, which always holds the newest values.

Examples:
  drdotnet counters collect -p 4242 --duration 1m
  drdotnet counters collect -p 4242 --format json -o requests.json \\
      --counters Microsoft.AspNetCore.Hosting
  drdotnet counters collect -p 4242,4243 --format prometheus \\
      -o /var/lib/node_exporter/dotnet.prom";

/// `drdotnet counters`
#[derive(Debug, Args)]
pub struct CountersArgs {
    #[command(subcommand)]
    pub command: CountersCommand,
}

/// What to do with counters.
#[derive(Debug, Subcommand)]
pub enum CountersCommand {
    /// Show counters of one or several processes, live
    #[command(override_usage = MONITOR_USAGE, after_help = MONITOR_HELP)]
    Monitor(MonitorArgs),
    /// Write counters to a file: CSV, JSON, Prometheus, OpenMetrics
    #[command(override_usage = COLLECT_USAGE, after_help = COLLECT_HELP)]
    Collect(CollectArgs),
    /// List providers of counters that .NET itself has
    List,
}

/// One or several running processes, or a program to start.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct ManyTargets {
    /// The processes with these ids or names
    #[arg(value_name = "PID|NAME")]
    pub processes: Vec<String>,
    /// The processes with these ids
    #[arg(short, long, visible_alias = "pid", value_name = "PID", value_delimiter = ',')]
    #[arg(value_parser = process_id)]
    pub process_id: Vec<ProcessId>,
    /// The process with this name (entry assembly or executable)
    #[arg(short, long)]
    pub name: Vec<String>,
    /// Start this program, look at it, and stop it afterwards
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl ManyTargets {
    /// The running processes that are meant, when no program is to be started.
    pub fn which(&self) -> Vec<Which> {
        let words = self.processes.iter().flat_map(|word| word.split(','));
        let words = words.filter(|word| !word.is_empty());
        let words = words.map(|word| word.parse().map_or(Which::Name(word.to_owned()), Which::Pid));
        let pids = self.process_id.iter().copied().map(Which::Pid);
        let names = self.name.iter().cloned().map(Which::Name);
        words.chain(pids).chain(names).collect()
    }
}

/// What is collected.
#[derive(Debug, Args)]
pub struct WhatArgs {
    /// Which counters.
    #[arg(short, long, value_name = "LIST")]
    #[arg(help = "Which: PROVIDER or PROVIDER[NAME,NAME], with commas between [default: System.Runtime]")]
    pub counters: Option<String>,
    /// Time between two values: 1, 500ms, 5s
    #[arg(long, value_name = "TIME", default_value = "1")]
    pub refresh_interval: String,
    /// Most time series of meters that the target follows
    #[arg(
        long = "maxTimeSeries",
        visible_alias = "max-time-series",
        value_name = "N",
        default_value_t = 1000
    )]
    pub max_time_series: u32,
    /// Most histograms of meters that the target follows
    #[arg(long = "maxHistograms", visible_alias = "max-histograms", value_name = "N", default_value_t = 10)]
    pub max_histograms: u32,
    /// End after this time: 10, 10s, 2m, 00:00:10 [default: until you end it]
    #[arg(short, long, value_name = "TIME")]
    pub duration: Option<String>,
}

/// `drdotnet counters monitor`
#[derive(Debug, Args)]
pub struct MonitorArgs {
    #[command(flatten)]
    pub target: ManyTargets,
    #[command(flatten)]
    pub what: WhatArgs,
    /// Show how much each value changed
    #[arg(long = "showDeltas", visible_alias = "show-deltas")]
    pub show_deltas: bool,
}

/// How counters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CounterFormat {
    /// As dotnet-counters does.
    Csv,
    /// As dotnet-counters does.
    Json,
    /// Text format 0.0.4.
    Prometheus,
    /// Text format 1.0.0.
    #[value(name = "openmetrics")]
    OpenMetrics,
}

/// `drdotnet counters collect`
#[derive(Debug, Args)]
pub struct CollectArgs {
    #[command(flatten)]
    pub target: ManyTargets,
    #[command(flatten)]
    pub what: WhatArgs,
    /// csv, json, prometheus or openmetrics
    #[arg(long, value_enum, default_value_t = CounterFormat::Csv, hide_possible_values = true)]
    pub format: CounterFormat,
    /// Write to this file; - is standard output [default: counter.csv, ...]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
