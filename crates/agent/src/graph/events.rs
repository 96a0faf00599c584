//! The events in which the runtime tells its heap during a full collection, handed on as they come (5 and newer).
//!
//! The runtime calls us for each event and keeps none, so that its memory does not grow. The thread that collects waits for
//! us meanwhile, and we wait for the host for a short time at most: then nothing more is handed on, and the answer says so.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use agent_wire::{Content, EVENT_HEAD_WORDS, GraphAsk, GraphEnd, Pause, Stage, event_head};
use clr_profiling::{EventMask, EventRecord};

use super::ring::{Ring, SLOT_WORDS, Stop};
use super::{Graph, millis};
use crate::answers::{self, Refusal};
use crate::visit::Visit;

const PROVIDER: &str = "Microsoft-Windows-DotNETRuntime";
/// Collections; names of types; the heap; where generations lie; a collection now; names of types with it.
const KEYWORDS: u64 = 0x1 | 0x8_0000 | 0x10_0000 | 0x40_0000 | 0x80_0000 | 0x100_0000;
const INFORMATIONAL: u32 = 4;
/// Begin and end of collections and pauses (1, 2, 3, 9), types (15), roots (16, 17, 38), objects (18), references (19),
/// generations (23).
const WANTED: u64 =
    1 << 1 | 1 << 2 | 1 << 3 | 1 << 9 | 1 << 15 | 1 << 16 | 1 << 17 | 1 << 18 | 1 << 19 | 1 << 23 | 1 << 38;

/// Modules, told at the end: of another provider, whose numbers are all greater.
const MODULES: [u32; 2] = [153, 154];

/// Where events go while a collection runs for us.
#[derive(Default)]
pub(crate) struct Events(Mutex<Option<Telling>>);

struct Telling {
    ring: Ring,
    began: Instant,
    events: u64,
    stopped: Option<Stop>,
}

impl Events {
    /// An event came, on whatever thread.
    pub(crate) fn tell(&self, visit: &Visit, record: EventRecord<'_>) {
        let wanted = record.id < 64 && WANTED >> record.id & 1 == 1 || MODULES.contains(&record.id);
        if !wanted {
            return;
        }
        let mut telling = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(telling) = telling.as_mut().filter(|telling| telling.stopped.is_none()) {
            telling.stopped = telling.write(visit, record).err();
        }
    }

    fn take(&self) -> Option<Telling> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Telling {
    fn write(&mut self, visit: &Visit, record: EventRecord<'_>) -> Result<(), Stop> {
        let length = u32::try_from(record.payload.len()).map_err(|_| Stop::Untold)?;
        let (id, version) = (u16::try_from(record.id), u16::try_from(record.version));
        let (Ok(id), Ok(version)) = (id, version) else { return Err(Stop::Untold) };
        let at = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let room = self.ring.room(visit, Content::Events, EVENT_HEAD_WORDS)?;
        if let Some(head) = room.first_chunk_mut() {
            *head = event_head(id, version, length, at);
        }
        self.ring.fill(EVENT_HEAD_WORDS);
        // Its last word is filled up with zeros.
        let mut words = record.payload.chunks(8).map(|word| {
            let mut bytes = [0; 8];
            bytes.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(bytes)
        });
        let mut left = record.payload.len().div_ceil(8);
        while left > 0 {
            let room = self.ring.room(visit, Content::Events, 1)?;
            let here = left.min(room.len()).min(SLOT_WORDS);
            for (place, word) in room.iter_mut().take(here).zip(&mut words) {
                *place = word;
            }
            self.ring.fill(here);
            left -= here;
        }
        self.events += 1;
        Ok(())
    }
}

/// Has the runtime collect and tell its heap.
pub(super) fn look(visit: &Visit, mut ring: Ring, ask: GraphAsk) -> Result<Graph, Refusal> {
    let turn = answers::take_turn(|| visit.is_unwanted())?;
    ring.start(millis(ask.longest_ms));
    let telling = Telling { ring, began: Instant::now(), events: 0, stopped: None };
    *visit.events.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(telling);
    let refused = |code| Refusal { stage: Stage::Heap, code };
    let session = visit
        .info
        .set_event_mask(EventMask::STACK_SNAPSHOT.and(EventMask::EVENTS))
        .and_then(|()| visit.info.start_events(PROVIDER, KEYWORDS, INFORMATIONAL, true));
    if let Ok(session) = session {
        let _ = visit.info.stop_events(session);
    }
    let _ = visit.info.set_event_mask(EventMask::STACK_SNAPSHOT);
    drop(turn);
    let telling = visit.events.take();
    session.map_err(refused)?;
    let Some(Telling { mut ring, events, stopped, .. }) = telling else {
        return Err(refused(clr_profiling::HResult::E_UNEXPECTED));
    };
    if let Some(stop) = stopped {
        return Err(stop.into());
    }
    ring.give();
    let end = GraphEnd { slots: ring.given, objects: events, references: 0, looked: false, collections: 1 };
    Ok(Graph { end, left_out: 0, classes: None, pause: Pause::default() })
}
