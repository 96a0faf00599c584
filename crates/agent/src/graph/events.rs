//! The events in which the runtime tells its heap during a full collection, handed on as they come (5 and newer).
//!
//! The runtime calls us for each event and keeps none, so that its memory does not grow. The thread that collects waits for
//! us meanwhile, and we wait for the host for a short time at most: then nothing more is handed on, and the answer says so.

use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use agent_wire::{Content, EVENT_HEAD_WORDS, GraphAsk, GraphEnd, Pause, Stage, event_head};
use clr_profiling::{EventMask, EventRecord, HResult, ModuleId, can_be_unloaded};

use super::ring::{Ring, Stop};
use super::{Graph, millis};
use crate::answers::{self, Refusal};
use crate::memory::word;
use crate::visit::Visit;

const PROVIDER: &str = "Microsoft-Windows-DotNETRuntime";
/// Collections; names of types; the heap; where generations lie; a collection now; names of types with it.
const KEYWORDS: u64 = 0x1 | 0x8_0000 | 0x10_0000 | 0x40_0000 | 0x80_0000 | 0x100_0000;
const INFORMATIONAL: u32 = 4;
/// Room for the stack of the thread that collects.
const STACK: usize = 1 << 20;
/// Begin and end of collections and pauses (1, 2, 3, 9), types (15), roots (16, 17, 38), objects (18), references (19),
/// generations (23).
const WANTED: u64 =
    1 << 1 | 1 << 2 | 1 << 3 | 1 << 9 | 1 << 15 | 1 << 16 | 1 << 17 | 1 << 18 | 1 << 19 | 1 << 23 | 1 << 38;

/// The number of events of types.
const TYPES: u32 = 15;
/// Most modules whose files are told, and most bytes of their paths: about 1 MB.
const MOST_MODULES: usize = 8192;
const LONGEST_PATHS: usize = 1 << 20;

/// Where events go while a collection runs for us.
#[derive(Default)]
pub(crate) struct Events(Mutex<Option<Telling>>);

struct Telling {
    ring: Ring,
    began: Instant,
    events: u64,
    /// Modules of types that stay.
    modules: Vec<u64>,
    stopped: Option<Stop>,
}

impl Events {
    /// An event came, on whatever thread.
    pub(crate) fn tell(&self, visit: &Visit, record: EventRecord<'_>) {
        if record.id >= 64 || WANTED >> record.id & 1 == 0 {
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
        let (mut words, tail) = record.payload.as_chunks::<8>();
        while !words.is_empty() {
            let room = self.ring.room(visit, Content::Events, 1)?;
            let (here, more) = words.split_at(words.len().min(room.len()));
            for (place, word) in room.iter_mut().zip(here) {
                *place = u64::from_le_bytes(*word);
            }
            self.ring.fill(here.len());
            words = more;
        }
        if !tail.is_empty() {
            // Filled up with zeros.
            let mut last = [0; 8];
            last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
            self.ring.push(visit, Content::Events, u64::from_le_bytes(last))?;
        }
        self.events += 1;
        if record.id == TYPES {
            let known = &mut self.modules;
            modules_of(record.payload, visit.info.version(), |module| {
                if known.len() < MOST_MODULES
                    && let Err(place) = known.binary_search(&module)
                {
                    known.insert(place, module);
                }
            });
        }
        Ok(())
    }
}

/// A session that makes the runtime collect, from its begin to its end.
fn collect(visit: &Visit) -> Result<(), HResult> {
    visit.info.set_event_mask(EventMask::STACK_SNAPSHOT.and(EventMask::EVENTS))?;
    let session = visit.info.start_events(PROVIDER, KEYWORDS, INFORMATIONAL);
    if let Ok(session) = session {
        let _ = visit.info.stop_events(session);
    }
    let _ = visit.info.set_event_mask(EventMask::STACK_SNAPSHOT);
    session.map(drop)
}

/// Has the runtime collect and tell its heap.
pub(super) fn look(visit: &Visit, mut ring: Ring, ask: GraphAsk) -> Result<Graph, Refusal> {
    let turn = answers::take_turn(|| visit.is_unwanted())?;
    ring.start(millis(ask.longest_ms));
    let telling = Telling { ring, began: Instant::now(), events: 0, modules: Vec::new(), stopped: None };
    *visit.events.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(telling);
    let refused = |code| Refusal { stage: Stage::Heap, code };
    // A thread that makes a collection is a managed one from then on, and such a thread may not ask what ours asks. So
    // another one does it, and ends.
    let made = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("drdotnet-events".into()).stack_size(STACK);
        let made = thread.spawn_scoped(scope, || collect(visit)).map(ScopedJoinHandle::join);
        made.unwrap_or(Ok(Err(HResult::E_FAIL)))
    });
    drop(turn);
    let telling = visit.events.take();
    made.unwrap_or_else(|payload| {
        std::mem::forget(payload);
        Err(HResult::E_UNEXPECTED)
    })
    .map_err(refused)?;
    let Some(Telling { mut ring, events, modules, stopped, .. }) = telling else {
        return Err(refused(HResult::E_UNEXPECTED));
    };
    if let Some(stop) = stopped {
        return Err(stop.into());
    }
    ring.give();
    let modules = files(visit, &modules);
    let end = GraphEnd { slots: ring.given, objects: events, references: 0, looked: false, collections: 1 };
    Ok(Graph { end, left_out: 0, classes: None, modules, pause: Pause::default() })
}

/// The module of each type in an event of types that cannot be unloaded.
fn modules_of(payload: &[u8], version: usize, mut take: impl FnMut(u64)) -> Option<()> {
    let mut rest = payload;
    let count = u32::from_le_bytes(next(&mut rest)?);
    next::<2>(&mut rest)?;
    for _ in 0..count {
        let (class, module) = (u64::from_le_bytes(next(&mut rest)?), u64::from_le_bytes(next(&mut rest)?));
        // Its row, its flags, its kind; then its name up to its end.
        next::<9>(&mut rest)?;
        while next::<2>(&mut rest)? != [0, 0] {}
        let parameters = usize::try_from(u32::from_le_bytes(next(&mut rest)?)).ok()?;
        rest = rest.get(parameters.checked_mul(8)?..)?;
        let flags = if class % 8 == 0 { word(class) } else { None };
        if flags.is_some_and(|flags| !can_be_unloaded((flags & 0xFFFF_FFFF) as u32, version)) {
            take(module);
        }
    }
    Some(())
}

fn next<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, more) = rest.split_first_chunk()?;
    *rest = more;
    Some(*first)
}

/// The files of modules that stay.
fn files(visit: &Visit, modules: &[u64]) -> Vec<(u64, String)> {
    let mut room = LONGEST_PATHS;
    let mut found = Vec::new();
    for id in modules {
        let known = usize::try_from(*id).ok().and_then(|id| visit.info.module(ModuleId(id)).ok());
        let Some(module) = known else { continue };
        let Some(left) = room.checked_sub(module.name.len()) else { break };
        room = left;
        found.push((*id, module.name));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::modules_of;

    #[test]
    fn types_are_read_to_their_end_and_no_further() {
        // Of a type that stays: the flags of this one are words of ours.
        let stays = Box::new([0_u64; 2]);
        let class = std::ptr::from_ref(&*stays).addr() as u64;
        let mut payload = vec![2, 0, 0, 0, 9, 0];
        for (class, module) in [(class, 77_u64), (8, 78)] {
            payload.extend(class.to_le_bytes());
            payload.extend(module.to_le_bytes());
            payload.extend([0; 9]);
            payload.extend([b'A', 0, b'B', 0, 0, 0, 1, 0, 0, 0]);
            payload.extend([5; 8]);
        }
        let mut found = Vec::new();
        assert_eq!(modules_of(&payload, 14, |module| found.push(module)), Some(()));
        assert_eq!(found, [77]);
        for end in 0..payload.len() {
            assert_eq!(modules_of(&payload[..end], 14, |_| ()), None, "{end}");
        }
    }
}
