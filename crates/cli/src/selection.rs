//! From what was typed to the process that is meant.

use std::time::Duration;

use discovery::{DotnetProcess, Options, find, find_by_name};
use model::ProcessId;

use crate::explain::Failure;

/// One process is asked with patience; a whole list is not.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The running process that is meant. Exactly one of the two is given.
pub fn select(pid: Option<ProcessId>, name: Option<&str>) -> Result<DotnetProcess, Failure> {
    let options = Options { timeout: TIMEOUT };
    match (pid, name) {
        (Some(pid), _) => Ok(find(pid, &options)?),
        (None, name) => Ok(find_by_name(name.unwrap_or_default(), &options)?),
    }
}
