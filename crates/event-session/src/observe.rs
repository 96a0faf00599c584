//! Typed events of a session, one by one.

use std::time::Duration;

use diagnostics_ipc::{Client, IpcError, Rundown, TraceRequest};
use nettrace::{Event, Item, Losses, Reader, Timestamp, TraceInfo};
use runtime_events::{RuntimeEvent, decode};

use crate::drive::{Driven, Going, SessionStream, Waiting, drive};
use crate::later::{hears_of_assemblies, is_quiet, listen, names_are_dangerous, observe_then_name};

/// Sees the events of a session in the order of the stream, which is that of time only within one thread.
pub trait Observer: Send {
    /// An event that is understood.
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>);

    /// An event of a kind that is not known.
    fn other(&mut self, _seen: &Seen<'_>) {}

    /// A barrier in time; stack ids mean something else behind it.
    fn barrier(&mut self, _at_ns: u64) {}
}

/// An event and when it was.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Nanoseconds from the start of the trace.
    pub at_ns: u64,
    /// The event with its thread and stack.
    pub event: Event<'a>,
}

/// The clock of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// When it began, when known.
    pub started: Option<std::time::SystemTime>,
    /// The same moment in the runtime's ticks, which on Linux are nanoseconds of `CLOCK_MONOTONIC`.
    pub start_ticks: u64,
    /// Between two samples of a thread, when there are samples.
    pub sample_interval: Option<Duration>,
}

/// What came of watching a session.
#[derive(Debug)]
pub struct Observed<O> {
    /// The observer with what it saw.
    pub observer: O,
    /// The clock; none if not even the head of the stream came.
    pub clock: Option<Clock>,
    /// What the runtime had to drop.
    pub losses: Losses,
    /// Events that came.
    pub events: u64,
    /// Events whose payload was not as expected.
    pub undecodable: u64,
    /// Where and how the stream was damaged, if it was before its end.
    pub damage: Option<nettrace::Error>,
    /// Whether the runtime was not asked for the names of its code, because that could have crashed it.
    pub withheld_names: bool,
}

/// Runs a session and shows its events to an observer.
pub fn observe<O: Observer>(
    client: &Client,
    request: &TraceRequest,
    observer: O,
    wait: impl FnMut(Waiting) -> Going,
) -> Result<Driven<Observed<O>>, IpcError> {
    if request.rundown == Rundown::None && hears_of_assemblies(request) {
        return listen(client, request, Duration::ZERO, observer, wait);
    }
    if request.rundown != Rundown::None && names_are_dangerous(client) {
        return observe_then_name(client, request, observer, wait);
    }
    drive(client, request, move |stream| watch(stream, observer, None), wait)
}

/// The same for a session that is over in a moment: a runtime that was known to be quiet when it began names its code in the same one.
pub fn observe_shortly<O: Observer>(
    client: &Client,
    request: &TraceRequest,
    observer: O,
    wait: impl FnMut(Waiting) -> Going,
) -> Result<Driven<Observed<O>>, IpcError> {
    if is_quiet(client) {
        return drive(client, request, move |stream| watch(stream, observer, None), wait);
    }
    observe(client, request, observer, wait)
}

/// Shows the events of a stream to an observer. Their times count from the start of another trace, if one is given.
pub(crate) fn watch<O: Observer>(
    stream: SessionStream,
    mut observer: O,
    origin: Option<Clock>,
) -> Observed<O> {
    let mut reader = Reader::new(stream);
    let mut clock = None;
    let (mut events, mut undecodable) = (0, 0);
    let mut info: Option<TraceInfo> = None;
    let mut earlier = Duration::ZERO;
    let since = |info: &Option<TraceInfo>, earlier: Duration, at: Timestamp| {
        info.as_ref().map_or(0, |info| nanos(earlier.saturating_add(info.since_start(at))))
    };
    let damage = loop {
        match reader.next() {
            Ok(None) => break None,
            Err(error) => break Some(error),
            Ok(Some(Item::Trace(trace))) => {
                clock = Some(Clock {
                    started: trace.started,
                    start_ticks: trace.start.0,
                    sample_interval: trace.sample_interval,
                });
                if let Some(origin) = origin {
                    let between = trace.start.0.saturating_sub(origin.start_ticks);
                    earlier = trace.since_start(Timestamp(trace.start.0.saturating_add(between)));
                }
                info = Some(trace.clone());
            }
            Ok(Some(Item::Event(event))) => {
                events += 1;
                let seen = Seen { at_ns: since(&info, earlier, event.header.timestamp), event };
                match decode(&event) {
                    Ok(Some(decoded)) => observer.event(&seen, &decoded),
                    Ok(None) => observer.other(&seen),
                    Err(_) => undecodable += 1,
                }
            }
            Ok(Some(Item::SequencePoint(point))) => observer.barrier(since(&info, earlier, point.timestamp)),
            Ok(Some(_)) => {}
        }
    };
    let losses = reader.losses().clone();
    if damage.is_none() {
        // The stream says where it ends; the connection is read to its own end, which the runtime waits for.
        let _ = std::io::copy(&mut reader.into_inner(), &mut std::io::sink());
    }
    Observed { observer, clock, losses, events, undecodable, damage, withheld_names: false }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
