//! `drdotnet trace`: one file per subcommand.

mod collect;
mod convert;
mod list_profiles;
mod report;
mod top_n;
mod trace_file;

pub use collect::may_die_with_the_tool;

use crate::args::trace::{TraceArgs, TraceCommand};
use crate::explain::Failure;
use crate::redaction;
use crate::screen::Screen;

/// Does what was asked with traces.
pub fn trace(args: &TraceArgs, screen: &Screen) -> Result<(), Failure> {
    match &args.command {
        TraceCommand::Collect(args) => {
            redaction::refuse_raw("a recording of events")?;
            collect::collect(args, screen)
        }
        TraceCommand::Convert(args) => convert::convert(args, screen),
        TraceCommand::Report(args) => report::report(args, screen),
        TraceCommand::ListProfiles(args) => list_profiles::list_profiles(args, screen),
    }
}
