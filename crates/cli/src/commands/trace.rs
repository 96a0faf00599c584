//! `drdotnet trace`: one file per subcommand.

mod list_profiles;

use crate::args::{TraceArgs, TraceCommand};
use crate::explain::Failure;
use crate::screen::Screen;

/// Does what was asked with traces.
pub fn trace(args: &TraceArgs, screen: &Screen) -> Result<(), Failure> {
    match &args.command {
        TraceCommand::ListProfiles(args) => list_profiles::list_profiles(args, screen),
    }
}
