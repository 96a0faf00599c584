//! How long the process was stopped for our sake.

use std::collections::HashMap;

use event_session::Seen;
use model::Pauses;
use runtime_events::RuntimeEvent;
use runtime_events::gc::SuspendReason;

/// Adds up the sampler's pauses: from the moment it asks the threads to stop until they run again.
#[derive(Clone, Debug, Default)]
pub(crate) struct PauseMeter {
    /// Begun by each thread that stops others, and not over yet.
    begun: HashMap<u64, u64>,
    pub(crate) pauses: Pauses,
}

impl PauseMeter {
    /// Looks at any event.
    pub(crate) fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>) {
        let thread = seen.event.thread().0;
        match event {
            // Collections have reasons of their own; the sampler gives none.
            RuntimeEvent::SuspendBegin(begin) if begin.reason == SuspendReason::Unspecified => {
                self.begun.insert(thread, seen.at_ns);
            }
            RuntimeEvent::RestartEnd(_) => {
                if let Some(begin) = self.begun.remove(&thread) {
                    let length = seen.at_ns.saturating_sub(begin);
                    self.pauses.count += 1;
                    self.pauses.total_ns += length;
                    self.pauses.longest_ns = self.pauses.longest_ns.max(length);
                }
            }
            _ => {}
        }
    }
}
