//! Threads that wait without a frame that says why: `lock` calls straight into the runtime. What they wait for stands in the
//! runtime's own lists, which the agent can read.

use std::collections::HashMap;

use agent_host::{AgentError, Locks, WaitKind, find_lock_layout};
use process_view::TaskState;
use symbols::{is_framework_module, readable_type};

use super::Guest;
use super::sight::{Native, Sight, Unnamed, Why};
use crate::sampling::Doing;

/// What threads wait for, by their numbers in the target's namespace.
pub(crate) struct MonitorWaits(HashMap<u32, Why>);

/// Takes the stacks; and once more, with what threads wait for, if some of them wait in the program's own code.
pub(crate) fn take(guest: &mut Guest<'_>, native: Native) -> Result<(Unnamed, MonitorWaits), AgentError> {
    let first = Unnamed::take(guest, native)?;
    if !has_silent_waits(&first) {
        return Ok((first, MonitorWaits(HashMap::new())));
    }
    let pid = guest.target().pid;
    let found = guest.ask(|attached| find_lock_layout(pid, attached), |found| (found.pause, 0))?;
    let Some(layout) = found.layout else { return Ok((first, MonitorWaits(HashMap::new()))) };
    let locks = guest
        .ask(|attached| attached.locks(&layout), |answer| (answer.stacks.pause, answer.stacks.left_out))?;
    let waits = MonitorWaits::of(&locks);
    Ok((Unnamed::of(guest.target(), locks.stacks, native), waits))
}

/// Whether a thread waits whose innermost frame is one of the program.
fn has_silent_waits(unnamed: &Unnamed) -> bool {
    unnamed.stacks().stacks.iter().any(|stack| {
        let innermost = stack.frames.iter().find(|(method, _)| *method != 0);
        let method = innermost.and_then(|(method, _)| unnamed.stacks().methods.get(method));
        method.is_some_and(|method| !is_framework_module(&method.module))
            && unnamed.state(stack.thread.os) == Some(TaskState::Sleeping)
    })
}

impl MonitorWaits {
    fn of(locks: &Locks) -> MonitorWaits {
        let numbers: HashMap<u64, u32> =
            locks.stacks.stacks.iter().map(|stack| (stack.thread.id, stack.thread.os)).collect();
        let mut waits = HashMap::new();
        for blocked in &locks.blocked {
            let Some(os) = numbers.get(&blocked.thread) else { continue };
            let (doing, call) = match blocked.kind {
                WaitKind::Enter => (Doing::WaitsForLock, "Monitor.Enter"),
                WaitKind::Pulse => (Doing::WaitsForSignal, "Monitor.Wait"),
                WaitKind::Lock => (Doing::WaitsForLock, "Lock.Enter"),
            };
            let class = locks.classes.get(&blocked.class).filter(|class| !class.name.is_empty());
            let by = class
                .map_or_else(|| call.to_owned(), |class| format!("{call} on {}", readable_type(&class.name)));
            // The innermost wait of a thread stands first.
            waits.entry(*os).or_insert(Why { doing, by: Some(by) });
        }
        MonitorWaits(waits)
    }

    /// Says of threads what their frames did not.
    pub(crate) fn tell(mut self, sight: &mut Sight) {
        for thread in sight.threads.iter_mut().filter(|thread| thread.why.doing == Doing::Outside) {
            if let Some(why) = self.0.remove(&thread.inside) {
                thread.why = why;
            }
        }
    }
}
