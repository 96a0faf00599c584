//! `drdotnet gcdump`: the heap of a process, and what it says.

mod collect;
mod collecting;
mod file;
mod show;

pub use collecting::Progress;
pub use file::{host, open, read};
pub use show::{compared, unclear};

use crate::args::gcdump::{GcdumpArgs, GcdumpCommand};
use crate::explain::Failure;
use crate::screen::Screen;

/// Does what was asked.
pub fn gcdump(args: &GcdumpArgs, screen: &Screen) -> Result<(), Failure> {
    match &args.command {
        GcdumpCommand::Collect(args) => collect::collect(args, screen),
        GcdumpCommand::Report(args) => show::report(args, screen),
        GcdumpCommand::Diff(args) => show::diff(args, screen),
        GcdumpCommand::Paths(args) => show::paths(args, screen),
    }
}
