//! One file per command.

mod checkup;
mod counters;
mod cpu_diff;
#[cfg(feature = "demo")]
mod demo;
mod dump;
mod gcdump;
mod heap;
mod info;
mod keeping;
pub mod kept_heap;
mod kernel;
mod launching;
mod profilers;
mod ps;
mod run;
mod sessions;
mod stack;
mod stored_profile;
mod symbols;
mod top;
mod trace;

pub use ps::short_command;
pub use run::run_help;
pub use symbols::State as SymbolState;

use crate::args::Command;
use crate::args::kernel::CpuAction;
use crate::explain::Failure;
use crate::screen::Screen;

/// Does what was asked.
pub fn dispatch(command: Command, screen: &Screen) -> Result<(), Failure> {
    match command {
        Command::Ps(args) => ps::ps(&args, screen),
        Command::Checkup(args) => checkup::checkup(&args, screen),
        Command::Info(args) => info::info(&args, screen),
        Command::Profilers(args) => profilers::profilers(&args, screen),
        Command::Run(args) => run::run(&args, screen),
        Command::Cpu(args) => match &args.action {
            Some(CpuAction::Diff(args)) => cpu_diff::cpu_diff(args, screen),
            None => kernel::cpu(&args, screen),
        },
        Command::OffCpu(args) => kernel::off_cpu(&args, screen),
        Command::Stack(args) => stack::stack(args, screen),
        Command::Top(args) => top::top(&args, screen),
        Command::Trace(args) => trace::trace(&args, screen),
        Command::Dump(args) => dump::dump(&args, screen),
        Command::Heap(args) => heap::heap(&args, screen),
        Command::Gcdump(args) => gcdump::gcdump(&args, screen),
        Command::Counters(args) => counters::counters(&args, screen),
        Command::Symbols(args) => symbols::symbols(&args, screen),
        Command::Sessions(args) => sessions::sessions(&args, screen),
        #[cfg(feature = "demo")]
        Command::Demo => demo::demo(screen),
    }
}

/// Indented JSON with a line feed.
fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value)
        .map(|text| reports::json::harmless(text + "\n"))
        .map_err(|error| Failure::new(crate::exit_code::Code::Unexpected, error.to_string()))
}
