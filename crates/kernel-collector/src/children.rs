//! Processes that a target started.

use std::time::Duration;

use discovery::{DotnetProcess, Options, Reach};
use model::ProcessId;

/// How often new processes are looked at: a runtime opens its socket a moment after its start.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long a child may take to say who it is.
const PATIENCE: Duration = Duration::from_millis(200);

/// The child, if it is a .NET program that answers.
pub(crate) fn look_at(pid: ProcessId) -> Option<DotnetProcess> {
    let found = discovery::find(pid, &Options { timeout: PATIENCE }).ok()?;
    Some(found).filter(|process| process.reach == Reach::Ready)
}
