//! Processes that a target started.

use std::time::Duration;

use discovery::Options;
use model::ProcessId;

use crate::request::Target;

/// How often new processes are looked at: a runtime opens its socket a moment after its start.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long a child may take to say who it is.
const PATIENCE: Duration = Duration::from_millis(200);

/// The child, if it is a .NET program that answers.
pub(crate) fn look_at(pid: ProcessId) -> Option<Target> {
    let found = discovery::find(pid, &Options { timeout: PATIENCE }).ok()?;
    Some(Target::from(&found)).filter(|target| target.client.is_some())
}
