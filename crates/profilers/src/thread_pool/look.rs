//! A short look at the stacks of all threads, beside a session that is already running.

use std::collections::HashMap;
use std::time::Duration;

use diagnostics_ipc::{Client, IpcError, Rundown, TraceRequest};
use event_session::{Going, Observer, Seen, observe};
use model::Pauses;
use nettrace::{Stack, StackId};
use runtime_events::RuntimeEvent;
use stacks::{StackKey, StackTable};

use crate::sampling::{BUFFER_MB, KindCount, Mode, PauseMeter, sampler, suspensions};

/// What was seen in all looks.
#[derive(Default)]
pub(super) struct Looks {
    pub(super) stacks: StackTable,
    /// Samples by thread, stack and mode.
    pub(super) samples: HashMap<(u64, Option<StackKey>, Mode), u64>,
    /// How often the sampler looked.
    pub(super) rounds: u64,
    pub(super) looks: u64,
    pub(super) kinds: KindCount,
    pub(super) pauses: Pauses,
    pub(super) bytes: u64,
    pub(super) events: u64,
}

/// One look.
struct Look {
    looks: Looks,
    known: HashMap<StackId, Option<StackKey>>,
    rounds: HashMap<u64, u64>,
    pauses: PauseMeter,
}

impl Look {
    fn key(&mut self, stack: Option<Stack<'_>>) -> Option<StackKey> {
        let stack = stack?;
        let table = &mut self.looks.stacks;
        *self.known.entry(stack.id).or_insert_with(|| table.intern(stack.frames()))
    }
}

impl Observer for Look {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>) {
        let RuntimeEvent::Sample(sample) = event else {
            self.pauses.event(seen, event);
            return;
        };
        let mode = Mode::from(sample.kind);
        let thread = seen.event.thread().0;
        let stack = self.key(seen.event.stack);
        self.looks.kinds.add(mode);
        *self.rounds.entry(thread).or_default() += 1;
        *self.looks.samples.entry((thread, stack, mode)).or_default() += 1;
    }

    fn barrier(&mut self, _at_ns: u64) {
        self.known.clear();
    }
}

/// Looks once more, for this long. Names are not asked for: the session beside it gets them.
pub(super) fn look(client: &Client, length: Duration, looks: Looks) -> Result<Looks, IpcError> {
    let mut request = TraceRequest::new(BUFFER_MB, vec![sampler(), suspensions()]);
    request.rundown = Rundown::None;
    let look = Look { looks, known: HashMap::new(), rounds: HashMap::new(), pauses: PauseMeter::default() };
    let driven = observe(client, &request, look, |waiting| {
        let left = length.saturating_sub(waiting.elapsed);
        if left.is_zero() {
            return Going::Stop;
        }
        std::thread::sleep(left.min(waiting.slice));
        Going::On
    })?;
    let Look { mut looks, rounds, pauses, .. } = driven.value.observer;
    looks.looks += 1;
    looks.rounds += rounds.into_values().max().unwrap_or(0);
    looks.bytes += driven.bytes;
    looks.events += driven.value.events;
    let new = pauses.pauses;
    looks.pauses.count += new.count;
    looks.pauses.total_ns += new.total_ns;
    looks.pauses.longest_ns = looks.pauses.longest_ns.max(new.longest_ns);
    Ok(looks)
}
