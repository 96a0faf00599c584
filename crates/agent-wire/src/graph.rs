//! The whole heap, told through memory that agent and host share.
//!
//! ```text
//!  page 0         page 1                    then SLOTS times SLOT_BYTES
//!  STOP, ROOTS    one byte for each slot    | head | words ... | head | words ... |
//!                  FREE -- agent fills --> FULL -- host copies --> FREE
//! ```
//!
//! The host makes the memory, seals its size and sends it along with [`Ask::HeapGraph`](crate::Ask::HeapGraph). Each slot has
//! a byte that says whose it is, so that neither side ever reads what the other writes. A slot holds words of one
//! [`Content`]; its number counts up, so that none is missed or read twice. What is said at the end of the answer
//! ([`GraphEnd`]) must equal what came.
//!
//! **Objects** are words of 64 bits, little-endian. A head never crosses the end of a slot, references may:
//!
//! ```text
//!  bits  0..45  address of the type / 8        then  [address, if the gap is all ones]
//!  bits 45..61  gap to the object before / 8          size (32) + number of references (32); or
//!  bit  61      large: two words follow               size, number of references
//!                                                     the references, none of them null
//! ```

use crate::bytes::{Damage, Reader, Writer};

/// Where the host says that the agent is to stop: not 0.
pub const STOP: usize = 0;
/// Where the host says that it has read what it wanted to read while the target stands still: not 0.
pub const LOOKED: usize = 64;
/// Where the state of the first slot lies, and how far it is to the next one's: no two share a cache line.
pub const STATES: usize = 4096;
const STATE_STEP: usize = 64;
/// How many slots there are.
pub const SLOTS: usize = 64;
/// Bytes of a slot with its head.
pub const SLOT_BYTES: usize = 64 * 1024;
/// Bytes of the head: number (8), bytes that follow (4), content (4).
pub const HEAD_BYTES: usize = 16;
/// Most bytes in a slot after its head.
pub const SLOT_ROOM: usize = SLOT_BYTES - HEAD_BYTES;
const FIRST_SLOT: usize = 8192;
/// Bytes of the whole memory.
pub const RING_BYTES: usize = FIRST_SLOT + SLOTS * SLOT_BYTES;

/// A slot that the agent may fill.
pub const FREE: u8 = 0;
/// A slot that the host may read.
pub const FULL: u8 = 1;

/// Most frames of one thread that are told.
pub const MOST_THREAD_FRAMES: usize = crate::DEEPEST_STACK;

/// Where the state of a slot lies.
#[must_use]
pub const fn state_of(slot: usize) -> usize {
    STATES + (slot % SLOTS) * STATE_STEP
}

/// Where a slot lies.
#[must_use]
pub const fn slot_at(slot: usize) -> usize {
    FIRST_SLOT + (slot % SLOTS) * SLOT_BYTES
}

/// How the heap is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum GraphWay {
    /// By a walk of the heap (9 and newer): no collection.
    Walk = 1,
    /// By the runtime's events of one full collection (5 and newer).
    Events,
    /// By what a main profiler is told during one full collection (3.1).
    Collection,
}

/// How the heap is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphAsk {
    /// The way.
    pub way: GraphWay,
    /// How long the target may stand still, in milliseconds; after that the agent gives up.
    pub longest_ms: u32,
    /// How long the agent waits, when all is told, for the host to say [`LOOKED`]; 0 to not wait, and to tell no frames.
    pub look_ms: u32,
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Content {
    /// Threads and their frames.
    Frames = 1,
    /// The frames are all told. Nothing else is in the slot.
    FramesEnd,
    /// Objects and their references.
    Objects,
    /// Events of the runtime.
    Events,
    /// Roots that the runtime told.
    Roots,
}

/// The head of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotHead {
    /// How many slots came before.
    pub number: u64,
    /// Bytes that follow.
    pub length: u32,
    /// What they are.
    pub content: Content,
}

/// What was told, to be compared with what came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphEnd {
    /// Slots.
    pub slots: u64,
    /// Objects; events of the runtime where these are told.
    pub objects: u64,
    /// References.
    pub references: u64,
    /// Whether the host was done with its own reading before the target went on.
    pub looked: bool,
    /// Collections that were made for it.
    pub collections: u32,
}

impl SlotHead {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.length.to_le_bytes());
        bytes[12] = self.content as u8;
        bytes
    }

    /// From bytes; `number` is what it must be.
    pub fn decode(bytes: &[u8; HEAD_BYTES], number: u64) -> Result<Self, Damage> {
        use Content::{Events, Frames, FramesEnd, Objects, Roots};
        let mut reader = Reader::new(bytes);
        if reader.u64("number of a slot")? != number {
            return Err(reader.damage("number of a slot"));
        }
        let length = reader.u32("length of a slot")?;
        if usize::try_from(length).is_ok_and(|length| length > SLOT_ROOM) {
            return Err(reader.damage("length of a slot"));
        }
        let code = reader.u32("content of a slot")?;
        let content = [Frames, FramesEnd, Objects, Events, Roots]
            .into_iter()
            .find(|content| u32::from(*content as u8) == code)
            .ok_or(reader.damage("content of a slot"))?;
        Ok(SlotHead { number, length, content })
    }
}

impl GraphAsk {
    pub(crate) fn write(&self, body: &mut Writer) {
        body.u8(self.way as u8).u32(self.longest_ms).u32(self.look_ms);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let code = reader.u8("way")?;
        let way = [GraphWay::Walk, GraphWay::Events, GraphWay::Collection]
            .into_iter()
            .find(|way| *way as u8 == code)
            .ok_or(reader.damage("way"))?;
        Ok(GraphAsk { way, longest_ms: reader.u32("time")?, look_ms: reader.u32("time")? })
    }
}

impl GraphEnd {
    pub(crate) fn write(&self, body: &mut Writer) {
        body.u64(self.slots).u64(self.objects).u64(self.references);
        body.u8(self.looked.into()).u32(self.collections);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        Ok(GraphEnd {
            slots: reader.u64("slots")?,
            objects: reader.u64("objects")?,
            references: reader.u64("references")?,
            looked: reader.flag("whether it was looked")?,
            collections: reader.u32("collections")?,
        })
    }
}

const TYPE_BITS: u32 = 45;
const GAP_BITS: u32 = 16;
/// The gap that says: the address follows.
const FAR: u64 = (1 << GAP_BITS) - 1;
const LARGE: u64 = 1 << (TYPE_BITS + GAP_BITS);

/// Words of the longest head of an object.
pub const OBJECT_HEAD_WORDS: usize = 4;

/// An object, without its references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldObject {
    /// Where it lies.
    pub address: u64,
    /// Its type: the address of its method table.
    pub class: u64,
    /// Its bytes, header included.
    pub size: u64,
    /// How many references follow.
    pub references: u64,
}

/// The place after an object, where the next one is expected.
#[inline]
fn after(address: u64, size: u64) -> u64 {
    address.wrapping_add(size.wrapping_add(7) & !7)
}

/// Writes heads of objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectWriter {
    expected: u64,
}

impl ObjectWriter {
    /// Writes the head of an object and returns its words: [`OBJECT_HEAD_WORDS`] at most. One whose size or number of
    /// references does not fit into 32 bits is large; of one that is not, [`ObjectWriter::count`] can be set later.
    /// None if the type has no address that can be told, or there is no room.
    #[inline]
    pub fn head(&mut self, object: &ToldObject, large: bool, room: &mut [u64]) -> Option<usize> {
        let gap = object.address.wrapping_sub(self.expected) >> 3;
        let near = gap < FAR && object.address & 7 == 0;
        let class = object.class >> 3;
        if class >> TYPE_BITS != 0 {
            return None;
        }
        let mark = if large { LARGE } else { 0 };
        *room.first_mut()? = class | (if near { gap } else { FAR } << TYPE_BITS) | mark;
        let mut used = 1;
        if !near {
            *room.get_mut(used)? = object.address;
            used += 1;
        }
        if large {
            *room.get_mut(used)? = object.size;
            *room.get_mut(used + 1)? = object.references;
            used += 2;
        } else {
            *room.get_mut(used)? = object.size & 0xFFFF_FFFF | object.references << 32;
            used += 1;
        }
        self.expected = after(object.address, object.size);
        Some(used)
    }

    /// Sets the number of references in the last word of a head that is not large.
    #[inline]
    pub fn count(word: &mut u64, references: u32) {
        *word = *word & 0xFFFF_FFFF | u64::from(references) << 32;
    }
}

/// Takes what is told of the heap.
pub trait ObjectSink {
    /// The next object; false to stop.
    fn object(&mut self, object: ToldObject) -> bool;
    /// The next reference of the object before; false to stop.
    fn reference(&mut self, target: u64) -> bool;
}

/// Reads objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectReader {
    expected: u64,
    /// References of the last object that are still to come.
    due: u64,
    /// Objects that came.
    pub objects: u64,
    /// References that came.
    pub references: u64,
}

impl ObjectReader {
    /// Reads the words of a slot. False if the sink wants no more.
    pub fn read(&mut self, bytes: &[u8], sink: &mut impl ObjectSink) -> Result<bool, Damage> {
        let (words, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(Damage { problem: "half a word", offset: bytes.len() - rest.len() });
        }
        let mut at = 0;
        let cut = |at: usize| Damage { problem: "head of an object", offset: at * 8 };
        let word = |at: usize| words.get(at).map(|word| u64::from_le_bytes(*word)).ok_or(cut(at));
        loop {
            let here = usize::try_from(self.due).unwrap_or(usize::MAX).min(words.len() - at);
            for target in words.get(at..at + here).unwrap_or_default() {
                if !sink.reference(u64::from_le_bytes(*target)) {
                    return Ok(false);
                }
            }
            self.due -= here as u64;
            self.references += here as u64;
            at += here;
            if at >= words.len() {
                return Ok(true);
            }
            let first = word(at)?;
            at += 1;
            let gap = first >> TYPE_BITS & FAR;
            let address = if gap == FAR {
                at += 1;
                word(at - 1)?
            } else {
                self.expected.wrapping_add(gap << 3)
            };
            let second = word(at)?;
            at += 1;
            let (size, references) = if first & LARGE != 0 {
                at += 1;
                (second, word(at - 1)?)
            } else {
                (second & 0xFFFF_FFFF, second >> 32)
            };
            if first >> (TYPE_BITS + GAP_BITS + 1) != 0 {
                return Err(cut(at));
            }
            let class = (first & ((1 << TYPE_BITS) - 1)) << 3;
            self.expected = after(address, size);
            self.due = references;
            self.objects += 1;
            if !sink.object(ToldObject { address, class, size, references }) {
                return Ok(false);
            }
        }
    }

    /// Whether all references came that were announced.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.due == 0
    }
}

/// A frame of a thread's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldFrame {
    /// The method; 0 for native code.
    pub method: u64,
    /// Where in its code.
    pub address: u64,
    /// Where its part of the stack begins; 0 if that is not known.
    pub stack_pointer: u64,
}

/// A thread and its frames, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadFrames {
    /// The runtime's id.
    pub id: u64,
    /// The operating system's number, in the target's pid namespace.
    pub os: u32,
    /// Its frames.
    pub frames: Vec<ToldFrame>,
}

/// Words of a frame, and of what stands before the frames of a thread.
pub const FRAME_WORDS: usize = 3;
/// See [`FRAME_WORDS`].
pub const THREAD_WORDS: usize = 2;

/// Reads threads. A frame never crosses the end of a slot.
#[derive(Clone, Debug, Default)]
pub struct FrameReader {
    /// What came so far.
    pub threads: Vec<ThreadFrames>,
    frames: usize,
    due: usize,
}

impl FrameReader {
    /// Reads the words of a slot; more than `most` threads or frames are damage.
    pub fn read(&mut self, bytes: &[u8], most: usize) -> Result<(), Damage> {
        let mut reader = Reader::new(bytes);
        while reader.has_more() {
            if self.due > 0 {
                self.due -= 1;
                self.frames += 1;
                let frame = ToldFrame {
                    method: reader.u64("frame")?,
                    address: reader.u64("frame")?,
                    stack_pointer: reader.u64("frame")?,
                };
                if let Some(thread) = self.threads.last_mut() {
                    thread.frames.push(frame);
                }
                continue;
            }
            let id = reader.u64("thread")?;
            let (os, count) = (reader.u32("thread")?, reader.u32("thread")?);
            self.due = usize::try_from(count).unwrap_or(usize::MAX);
            if self.due > MOST_THREAD_FRAMES || self.threads.len() >= most || self.frames >= most {
                return Err(reader.damage("number of frames"));
            }
            self.threads.push(ThreadFrames { id, os, frames: Vec::new() });
        }
        Ok(())
    }

    /// Whether all frames came that were announced.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.due == 0
    }
}

/// Words before the fields of an event.
pub const EVENT_HEAD_WORDS: usize = 2;
/// Longest payload of an event.
const LONGEST_EVENT: usize = 1 << 20;

/// The words before the fields of an event: its number and version, the bytes of its fields, and when it came in
/// nanoseconds.
#[must_use]
pub fn event_head(id: u16, version: u16, length: u32, at_ns: u64) -> [u64; EVENT_HEAD_WORDS] {
    [u64::from(id) | u64::from(version) << 16 | u64::from(length) << 32, at_ns]
}

/// An event of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldEvent<'a> {
    /// Its number.
    pub id: u16,
    /// Version of its layout.
    pub version: u16,
    /// When it came, in nanoseconds from the first look.
    pub at_ns: u64,
    /// Its fields.
    pub payload: &'a [u8],
}

/// Reads events, which may go over several slots.
#[derive(Clone, Debug, Default)]
pub struct EventReader {
    /// What is there of an event that is not whole yet, from its head on.
    started: Vec<u8>,
    /// Events that came.
    pub events: u64,
}

impl EventReader {
    /// Reads the words of a slot.
    pub fn read(&mut self, bytes: &[u8], mut take: impl FnMut(ToldEvent<'_>)) -> Result<(), Damage> {
        let mut whole;
        let mut rest = bytes;
        if !self.started.is_empty() {
            whole = std::mem::take(&mut self.started);
            whole.extend_from_slice(bytes);
            rest = &whole;
        }
        while !rest.is_empty() {
            let mut reader = Reader::new(rest);
            let (id, version) = (reader.u16("event")?, reader.u16("event")?);
            let length = usize::try_from(reader.u32("event")?).unwrap_or(usize::MAX);
            let at_ns = reader.u64("event")?;
            if length > LONGEST_EVENT {
                return Err(reader.damage("length of an event"));
            }
            let padded = length.next_multiple_of(8);
            let fields = rest.get(EVENT_HEAD_WORDS * 8..).unwrap_or_default();
            let Some(payload) = fields.get(..length).filter(|_| fields.len() >= padded) else {
                self.started = rest.to_vec();
                return Ok(());
            };
            take(ToldEvent { id, version, at_ns, payload });
            self.events += 1;
            rest = fields.get(padded..).unwrap_or_default();
        }
        Ok(())
    }

    /// Whether no event is half there.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.started.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Kept(Vec<(ToldObject, Vec<u64>)>);

    impl ObjectSink for Kept {
        fn object(&mut self, object: ToldObject) -> bool {
            self.0.push((object, Vec::new()));
            true
        }

        fn reference(&mut self, target: u64) -> bool {
            self.0.last_mut().is_some_and(|(_, targets)| {
                targets.push(target);
                true
            })
        }
    }

    fn objects() -> Vec<(ToldObject, Vec<u64>)> {
        let object = |address, class, size, targets: &[u64]| {
            (ToldObject { address, class, size, references: targets.len() as u64 }, targets.to_vec())
        };
        vec![
            object(0x7f00_0000_1000, 0x7fff_ffff_fff8, 24, &[1, 2, 3]),
            object(0x7f00_0000_1018, 0x7f00_dead_bee8, 23, &[]),
            object(0x7f00_0000_1030, 0x7f00_dead_bee8, 0x1_0000_0000, &[9]),
            object(0x10, 8, 24, &[]),
            object(0x10 + 24 + 8 * (FAR - 1), 8, 24, &[7]),
            object(0xffff_ffff_ffff_fff8, 0, u64::MAX, &[0]),
            object(0x7, 16, 1, &[]),
        ]
    }

    #[test]
    fn objects_are_read_as_they_were_written() {
        let mut writer = ObjectWriter::default();
        let mut words = Vec::new();
        for (object, targets) in objects() {
            let mut room = [0; OBJECT_HEAD_WORDS];
            let large = object.size > 0xFFFF_FFFF;
            let used = writer.head(&object, large, &mut room).expect("an address");
            words.extend_from_slice(&room[..used]);
            words.extend(targets);
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (mut reader, mut kept) = (ObjectReader::default(), Kept::default());
        assert_eq!(reader.read(&bytes, &mut kept), Ok(true));
        assert_eq!(kept.0, objects());
        assert!(reader.is_whole());
        assert_eq!((reader.objects, reader.references), (7, 6));
    }

    #[test]
    fn references_may_come_in_the_next_slot_and_heads_may_not() {
        let (object, targets) = objects().remove(0);
        let mut room = [0; OBJECT_HEAD_WORDS];
        let used = ObjectWriter::default().head(&object, false, &mut room).expect("an address");
        let head: Vec<u8> = room[..used].iter().flat_map(|word| word.to_le_bytes()).collect();
        let (mut reader, mut kept) = (ObjectReader::default(), Kept::default());
        assert_eq!(reader.read(&head, &mut kept), Ok(true));
        assert!(!reader.is_whole());
        let rest: Vec<u8> = targets.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(reader.read(&rest, &mut kept), Ok(true));
        assert_eq!(kept.0, [(object, targets)]);
        assert!(ObjectReader::default().read(&head[..8], &mut kept).is_err());
        assert!(ObjectReader::default().read(&head[..5], &mut kept).is_err());
    }

    #[test]
    fn a_slot_with_another_number_is_damage() {
        let head = SlotHead { number: 7, length: 16, content: Content::Objects };
        assert_eq!(SlotHead::decode(&head.encode(), 7), Ok(head));
        assert!(SlotHead::decode(&head.encode(), 8).is_err());
        let long = SlotHead { length: 1 << 20, ..head };
        assert!(SlotHead::decode(&long.encode(), 7).is_err());
    }

    #[test]
    fn events_may_go_over_several_slots() {
        let payload: Vec<u8> = (0..21).collect();
        let head = event_head(18, 1, 21, 7);
        let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(&payload);
        bytes.extend([0; 3]);
        bytes.extend(bytes.clone());
        for cut in (0..bytes.len()).step_by(8).filter(|cut| *cut % 40 != 8) {
            let mut reader = EventReader::default();
            let mut seen = 0;
            for part in [&bytes[..cut], &bytes[cut..]] {
                let take = |event: ToldEvent<'_>| {
                    assert_eq!(event, ToldEvent { id: 18, version: 1, at_ns: 7, payload: &payload });
                    seen += 1;
                };
                reader.read(part, take).expect("events");
            }
            assert_eq!((seen, reader.events, reader.is_whole()), (2, 2, true), "cut at {cut}");
        }
        let long = event_head(18, 1, u32::MAX, 7);
        let long: Vec<u8> = long.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert!(EventReader::default().read(&long, |_| ()).is_err());
    }

    #[test]
    fn the_count_can_be_set_later() {
        let mut word = 0xFFFF_FFFF_0000_0018;
        ObjectWriter::count(&mut word, 5);
        assert_eq!(word, 0x5_0000_0018);
    }
}
