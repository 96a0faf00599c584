//! The walk of the heap (9 and newer): every object with its references, while the runtime stands still.

use std::time::Instant;

use agent_wire::{Content, GraphAsk, OBJECT_HEAD_WORDS, ObjectWriter, Pause, Stage, ToldObject};
use clr_profiling::{HeapObject, Suspended, Walk};

use super::classes::Classes;
use super::frames::Frames;
use super::ring::{Ring, SLOT_WORDS, Stop};
use super::{Graph, millis};
use crate::answers::{self, Refusal};
use crate::visit::Visit;

/// Most references that an object may have for its count to be known only after they are written.
const MOST_AT_ONCE: usize = SLOT_WORDS - OBJECT_HEAD_WORDS;

struct Walker<'r, 's> {
    visit: &'r Visit,
    ring: &'r mut Ring,
    suspended: &'s Suspended<'s>,
    classes: Classes,
    writer: ObjectWriter,
    objects: u64,
    references: u64,
}

/// Walks the heap and tells it meanwhile.
pub(super) fn look(visit: &Visit, mut ring: Ring, ask: GraphAsk) -> Result<Graph, Refusal> {
    // Room is made before: while the runtime stands still, every microsecond counts.
    let mut frames = Frames::new();
    let classes = Classes::new();
    let turn = answers::take_turn(|| visit.is_unwanted())?;
    let began = Instant::now();
    let suspended = answers::suspend(visit, || visit.is_unwanted())?;
    let mut pause = Pause { suspending: began.elapsed(), ..Pause::default() };
    ring.start(millis(ask.longest_ms));
    if ask.look_ms > 0 {
        frames.look(&suspended);
        frames.write(visit, &mut ring)?;
    }
    let mut walker = Walker {
        visit,
        ring: &mut ring,
        suspended: &suspended,
        classes,
        writer: ObjectWriter::default(),
        objects: 0,
        references: 0,
    };
    let mut stopped = None;
    let walked = suspended.heap(|object| match walker.object(object) {
        Ok(()) => Walk::On,
        Err(stop) => {
            stopped = Some(stop);
            Walk::Enough
        }
    });
    if let Some(stop) = stopped {
        return Err(stop.into());
    }
    walked.map_err(|code| Refusal { stage: Stage::Heap, code })?;
    let Walker { mut classes, objects, references, .. } = walker;
    ring.give();
    classes.describe_collectible(&visit.info, &suspended);
    let looked = ask.look_ms > 0 && ring.wait_for_look(visit, millis(ask.look_ms));
    pause.suspended = suspended.elapsed();
    drop(suspended);
    drop(turn);
    let slots = ring.given;
    let end = agent_wire::GraphEnd { slots, objects, references, looked, collections: 0 };
    Ok(Graph { end, left_out: frames.left_out, classes: Some(classes), pause })
}

impl Walker<'_, '_> {
    #[inline]
    fn object(&mut self, object: HeapObject<'_>) -> Result<(), Stop> {
        let class = object.class();
        self.classes.meet(class, || object.is_collectible());
        let size = object.size();
        let mut told = ToldObject {
            address: object.id().0 as u64,
            class: class.0 as u64,
            size: size as u64,
            references: 0,
        };
        self.objects += 1;
        // One more than its words: the reference to what keeps its type loaded.
        let most = if object.has_references() { size / 8 + 1 } else { 0 };
        if most > MOST_AT_ONCE || u32::try_from(size).is_err() {
            return self.large(object, told);
        }
        let room = self.ring.room(self.visit, Content::Objects, OBJECT_HEAD_WORDS + most)?;
        let head = self.writer.head(&told, false, room).ok_or(Stop::Untold)?;
        let mut used = head;
        if most > 0 {
            let write = |target: usize| {
                if let Some(place) = room.get_mut(used) {
                    *place = target as u64;
                    used += 1;
                }
            };
            if object.is_collectible() {
                let _ = self.suspended.references_of(object, write);
            } else {
                object.each_reference(write);
            }
            let count = used - head;
            told.references = count as u64;
            if let (Some(word), Ok(count)) = (room.get_mut(head - 1), u32::try_from(count)) {
                ObjectWriter::count(word, count);
            }
        }
        self.ring.fill(used);
        self.references += told.references;
        Ok(())
    }

    /// One with more references than a slot holds: they are counted first.
    #[cold]
    fn large(&mut self, object: HeapObject<'_>, mut told: ToldObject) -> Result<(), Stop> {
        let each = |visit: &mut dyn FnMut(usize)| {
            if object.is_collectible() {
                let _ = self.suspended.references_of(object, visit);
            } else {
                object.each_reference(visit);
            }
        };
        each(&mut |_| told.references += 1);
        let room = self.ring.room(self.visit, Content::Objects, OBJECT_HEAD_WORDS)?;
        let used = self.writer.head(&told, true, room).ok_or(Stop::Untold)?;
        self.ring.fill(used);
        let mut outcome = Ok(());
        each(&mut |target| {
            if outcome.is_ok() {
                outcome = self.ring.push(self.visit, Content::Objects, target as u64);
            }
        });
        self.references += told.references;
        outcome
    }
}
