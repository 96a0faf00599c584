//! A session that tells of counters.

use std::time::SystemTime;

use diagnostics_ipc::{Client, IpcError};
use event_session::{Driven, Going, SessionStream, Waiting, drive};
use nettrace::{Item, Reader, TraceInfo};
use runtime_events::decode;

use crate::note::Note;
use crate::plan::Plan;
use crate::translator::{Told, Translator};

/// What came of a session, beside what was told.
#[derive(Debug)]
pub struct Watched {
    /// Values that were told.
    pub updates: u64,
    /// Events whose payload was not as expected.
    pub undecodable: u64,
    /// Where and how the stream was damaged, if it was before its end.
    pub damage: Option<nettrace::Error>,
}

/// Runs a session: `tell` hears of counters, on a thread of its own, until `wait` says stop or the target ends.
pub fn watch(
    client: &Client,
    plan: &Plan,
    tell: impl FnMut(Told) + Send,
    wait: impl FnMut(Waiting) -> Going,
) -> Result<Driven<Watched>, IpcError> {
    let translator = Translator::new(plan.clone());
    drive(client, &plan.request(), move |stream| read(stream, translator, tell), wait)
}

fn read(stream: SessionStream, mut translator: Translator, mut tell: impl FnMut(Told)) -> Watched {
    let mut reader = Reader::new(stream);
    let mut clock: Option<TraceInfo> = None;
    let (mut updates, mut undecodable) = (0, 0);
    let mut lost = 0;
    let mut hear = |told: Told| {
        updates += u64::from(matches!(told, Told::Update(_)));
        tell(told);
    };
    let damage = loop {
        match reader.next() {
            Ok(None) => break None,
            Err(error) => break Some(error),
            Ok(Some(Item::Trace(trace))) => clock = Some(trace.clone()),
            Ok(Some(Item::Event(event))) => {
                let at = clock.as_ref().and_then(|clock| clock.wall_clock(event.header.timestamp));
                match decode(&event) {
                    Ok(Some(decoded)) => translator.see(
                        &event.metadata.provider,
                        &decoded,
                        at.unwrap_or_else(SystemTime::now),
                        &mut hear,
                    ),
                    Ok(None) => {}
                    Err(_) => undecodable += 1,
                }
            }
            Ok(Some(_)) => {
                let events = reader.losses().events;
                if events > lost {
                    lost = events;
                    hear(Told::Note(Note::Lost { events }));
                }
            }
        }
    };
    Watched { updates, undecodable, damage }
}
