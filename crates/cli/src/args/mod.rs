//! The command line as it is typed. Nothing here does any work.

pub mod checkup;
pub mod counters;
pub mod cpu_diff;
#[cfg(test)]
mod documented;
pub mod dump;
pub mod gcdump;
pub mod heap;
pub mod kernel;
mod sessions;
mod spelling;
pub mod stack;
pub mod symbols;
mod target;
pub mod top;
pub mod trace;
pub mod trace_convert;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, Parser, Subcommand};

pub use checkup::CheckupArgs;
pub use counters::CountersArgs;
pub use dump::DumpArgs;
pub use gcdump::GcdumpArgs;
pub use kernel::{CpuArgs, OffCpuArgs};
pub use sessions::{SessionCommand, SessionsArgs};
use spelling::with_equals_signs;
pub use symbols::SymbolsArgs;
pub use target::{AnyTarget, CollectTarget, OneTarget, RunTarget, Which};
pub use trace::TraceArgs;

use crate::screen::ColourChoice;

const EXAMPLES: &str = "\
Examples:
  drdotnet ps                              list the .NET processes
  drdotnet checkup -p 4242                 what is wrong with one
  drdotnet info -p 4242                    what one is, and what it would tell
  drdotnet cpu -p 4242                     where its CPU time goes
  drdotnet stack -p 4242                   what its threads do right now
  drdotnet run exceptions -p 4242          ask one question
  drdotnet run threads -- dotnet App.dll   start a program and look at it
  drdotnet counters monitor -n Shop.Api    watch its counters
  drdotnet trace collect -p 4242 --duration 30s
  drdotnet heap -p 4242                    what its memory is made of
  drdotnet sessions show last              the latest report again

Every failure has an exit code of its own: docs/troubleshooting.md lists them.";

const RUN_USAGE: &str = "drdotnet run <PROFILER> [OPTIONS] <PID|NAME>
       drdotnet run <PROFILER> [OPTIONS] -p <PID>
       drdotnet run <PROFILER> [OPTIONS] -n <NAME>
       drdotnet run <PROFILER> [OPTIONS] -- <COMMAND>...";

/// Reads what was typed. A mistake, `--help` and `--version` end the tool.
pub fn parse(typed: impl IntoIterator<Item = OsString>) -> Arguments {
    Arguments::try_parse_from(with_equals_signs(typed)).unwrap_or_else(|error| without_dashes(error).exit())
}

/// A mistake without the advice to pass an option as a value behind `--`: no command of ours takes such values.
fn without_dashes(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().contains("as a value"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Finds what is wrong with a running .NET process, without a restart and at almost no cost to it
#[derive(Debug, Parser)]
#[command(name = "drdotnet", version, after_help = EXAMPLES, max_term_width = 80)]
pub struct Arguments {
    /// When to use colour: auto, always or never
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", help_heading = "Display")]
    #[arg(hide_possible_values = true)]
    pub color: ColourChoice,

    /// Show texts of the program's data (messages, arguments, values) as length and hash
    #[arg(long, global = true, help_heading = "Display")]
    pub redact: bool,

    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the .NET processes of this machine
    Ps(PsArgs),
    /// Find out what is wrong with a process
    #[command(override_usage = checkup::USAGE, after_help = checkup::HELP)]
    Checkup(CheckupArgs),
    /// Describe one process, and what can be collected from it
    Info(InfoArgs),
    /// List the questions that can be asked
    Profilers(ProfilersArgs),
    /// Ask one question of a process
    #[command(override_usage = RUN_USAGE, after_help = crate::commands::run_help())]
    Run(RunArgs),
    /// Where a process uses the CPU: a flame graph down into the kernel
    #[command(override_usage = kernel::CPU_USAGE, after_help = kernel::CPU_EXAMPLES)]
    Cpu(CpuArgs),
    /// Where threads of a process wait: a flame graph by waiting time
    #[command(override_usage = kernel::OFF_CPU_USAGE, after_help = kernel::OFF_CPU_EXAMPLES)]
    OffCpu(OffCpuArgs),
    /// Show what every thread does right now: all stacks, merged
    #[command(override_usage = stack::USAGE, after_help = stack::HELP)]
    Stack(stack::StackArgs),
    /// Show the hottest methods and threads of a process, live
    #[command(override_usage = top::USAGE, after_help = top::HELP)]
    Top(top::TopArgs),
    /// Record events into a file, and look into such files
    Trace(TraceArgs),
    /// Show or record the counters of processes
    Counters(CountersArgs),
    /// What the memory of a process is made of, what holds it, what grew
    #[command(override_usage = heap::USAGE, after_help = heap::HELP)]
    Heap(heap::HeapArgs),
    /// The heap of a process in .gcdump files, called as dotnet-gcdump is
    Gcdump(GcdumpArgs),
    /// Let a process write a core dump of itself
    Dump(DumpArgs),
    /// Names of native code: what is there, and getting what is missing
    Symbols(SymbolsArgs),
    /// Look at earlier runs
    Sessions(SessionsArgs),
    /// Try it on a real .NET program that is sick (fetches what it needs)
    #[cfg(feature = "demo")]
    Demo,
}

/// `drdotnet ps`
#[derive(Debug, Args)]
pub struct PsArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `drdotnet info`
#[derive(Debug, Args)]
pub struct InfoArgs {
    #[command(flatten)]
    pub target: OneTarget,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Show the values of environment variables that look like secrets
    #[arg(long)]
    pub show_secrets: bool,
}

/// `drdotnet profilers`
#[derive(Debug, Args)]
pub struct ProfilersArgs {
    /// Describe this one with all its parameters
    pub profiler: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `drdotnet run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Which question; `drdotnet profilers` lists them
    pub profiler: String,
    #[command(flatten)]
    pub target: RunTarget,
    /// How long to look: 10, 10s, 2m, 00:00:10 [default: the profiler's own]
    #[arg(short, long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Set a parameter of the profiler; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
    /// Let the process stand still for more than 1 s, where a profiler needs that (the same as --set allow-pause=yes)
    #[arg(long)]
    pub allow_pause: bool,
    /// Keep the session in this folder, new or empty [default: the user's own]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_option_is_answered_with_the_right_one_and_nothing_else() {
        let said = |words: &[&str]| {
            without_dashes(Arguments::try_parse_from(words).unwrap_err()).render().to_string()
        };
        let misspelt = said(&["drdotnet", "checkup", "--keepcase", "x"]);
        assert!(misspelt.contains("'--keep-case'") && misspelt.matches("tip:").count() == 1, "{misspelt}");
        let unknown = said(&["drdotnet", "checkup", "--zzzz"]);
        assert!(!unknown.contains("tip:"), "{unknown}");
    }
}
