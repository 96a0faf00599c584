//! Outgoing HTTP calls and database commands in the window: how many, how slow, how many fail. A session of its own, so that it can
//! end early when there are so many that listening to them would cost the program more than it may. Beside them it hears what is
//! compiled, where nobody counts that: methods made at run time are reported only to those who want everything.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diagnostics_ipc::{EventFilter, IpcError, Level, Provider, Rundown, TraceRequest};
use discovery::DotnetProcess;
use event_session::{Going, Observer, Seen, Waiting, observe};
use facts::CallsKind;
use judgement::signs::{Calls, Counting};
use runtime_events::{RuntimeEvent, keyword, provider};

use super::runtime::SETTLED;
use crate::dependencies::{self, Call, Detail, Tracker};

use crate::looks::JITTING_STARTED;

/// Buffer in the target, in megabytes.
const BUFFER_MB: u32 = 4;
/// Calls a second beyond which it is not listened to. An event costs the program about 5 us and a call has two, so this is one per
/// cent of a processor.
const MAX_A_SECOND: f64 = 1000.0;
/// A burst is heard to its end.
const BURST: u64 = 500;

/// What came of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heard {
    /// The calls.
    pub(crate) calls: Calls,
    /// Methods compiled after the sessions' own, if that was asked.
    pub(crate) compiled: Option<u64>,
}

impl Heard {
    fn count(&mut self, call: &Call<()>) {
        call.count(match call.kind {
            CallsKind::Http => &mut self.calls.http,
            CallsKind::Database => &mut self.calls.commands,
        });
    }
}

struct Listener<'a> {
    heard: Heard,
    tracker: Tracker<()>,
    events: u64,
    enough: &'a AtomicBool,
}

impl Observer for Listener<'_> {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>) {
        let compiled = self.heard.compiled.as_mut();
        if let (RuntimeEvent::JittingStarted(_), Some(compiled)) = (event, compiled) {
            *compiled += u64::from(Duration::from_nanos(seen.at_ns) > SETTLED);
        }
    }

    fn other(&mut self, seen: &Seen<'_>) {
        let Some(event) = dependencies::read(seen) else { return };
        self.events += 1;
        let seconds = Duration::from_nanos(seen.at_ns).as_secs_f64();
        if self.events.saturating_sub(2 * BURST) as f64 > seconds * MAX_A_SECOND * 2.0 {
            self.enough.store(true, Ordering::Release);
        }
        if let Some(call) = self.tracker.take(event, seen.at_ns, || ()) {
            self.heard.count(&call);
        }
    }
}

/// Listens until `wait` says stop, or there are too many.
pub(crate) fn listen(
    process: &DotnetProcess,
    counting: Counting,
    mut wait: impl FnMut(Waiting) -> Going,
) -> Result<Heard, IpcError> {
    let Some(client) = process.client() else { return Ok(Heard::default()) };
    let mut providers = vec![dependencies::provider(Detail::Count)];
    let counts_none = counting == Counting::Unneeded;
    providers.extend(counts_none.then(|| Provider {
        filter: EventFilter::Only(vec![JITTING_STARTED]),
        ..Provider::new(provider::RUNTIME, keyword::JIT, Level::Verbose)
    }));
    let request =
        TraceRequest { rundown: Rundown::None, stacks: false, ..TraceRequest::new(BUFFER_MB, providers) };
    let enough = AtomicBool::new(false);
    let heard = Heard { compiled: counts_none.then_some(0), ..Heard::default() };
    let listener = Listener { heard, tracker: Tracker::default(), events: 0, enough: &enough };
    let driven = observe(&client, &request, listener, |waiting| {
        if enough.load(Ordering::Acquire) { Going::Stop } else { wait(waiting) }
    })?;
    let (bytes, events) = (driven.bytes, driven.value.events);
    let Listener { mut heard, tracker, .. } = driven.value.observer;
    let too_many = enough.load(Ordering::Acquire);
    heard.calls = Calls { window: driven.elapsed, bytes, events, too_many, ..heard.calls };
    let window_ns = heard.calls.window_ns();
    for call in tracker.under_way(window_ns) {
        heard.count(&call);
    }
    Ok(heard)
}
