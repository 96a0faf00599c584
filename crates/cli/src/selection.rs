//! From what was typed to the process that is meant.

use std::time::Duration;

use discovery::{DotnetProcess, Options, find, find_by_name};

use crate::args::Which;
use crate::explain::Failure;
use crate::redaction::shown;

/// One process is asked with patience; a whole list is not.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The running process that is meant.
pub fn select(which: &Which) -> Result<DotnetProcess, Failure> {
    let options = Options { timeout: TIMEOUT };
    match which {
        Which::Pid(pid) => Ok(shown(find(*pid, &options)?)),
        Which::Name(name) => Ok(shown(find_by_name(name, &options)?)),
    }
}
