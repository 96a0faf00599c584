//! The whole heap, told through memory that agent and host share.
//!
//! ```text
//!  page 0         page 1                    then SLOTS times SLOT_BYTES
//!  STOP, LOOKED   one byte for each slot    | head | words ... | head | words ... |
//!                  FREE -- agent fills --> FULL -- host copies --> FREE
//! ```
//!
//! The host makes the memory, seals its size and sends it along with [`Ask::HeapGraph`](crate::Ask::HeapGraph). Each slot has
//! a byte that says whose it is, so that neither side ever reads what the other writes. A slot holds words of one
//! [`Content`]; its number counts up, so that none is missed or read twice. What is said at the end of the answer
//! ([`GraphEnd`]) must equal what came.

mod events;
mod frames;
mod objects;

pub use events::{EVENT_HEAD_WORDS, EventReader, ToldEvent, event_head};
pub use frames::{FRAME_WORDS, FrameReader, MOST_THREAD_FRAMES, THREAD_WORDS, ThreadFrames, ToldFrame};
pub use objects::{OBJECT_HEAD_WORDS, ObjectReader, ObjectSink, ObjectWriter, ToldObject};

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
        use Content::{Events, Frames, FramesEnd, Objects};
        let mut reader = Reader::new(bytes);
        if reader.u64("number of a slot")? != number {
            return Err(reader.damage("number of a slot"));
        }
        let length = reader.u32("length of a slot")?;
        if usize::try_from(length).is_ok_and(|length| length > SLOT_ROOM) {
            return Err(reader.damage("length of a slot"));
        }
        let code = reader.u32("content of a slot")?;
        let content = [Frames, FramesEnd, Objects, Events]
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
        let way = [GraphWay::Walk, GraphWay::Events]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_with_another_number_is_damage() {
        let head = SlotHead { number: 7, length: 16, content: Content::Objects };
        assert_eq!(SlotHead::decode(&head.encode(), 7), Ok(head));
        assert!(SlotHead::decode(&head.encode(), 8).is_err());
        let long = SlotHead { length: 1 << 20, ..head };
        assert!(SlotHead::decode(&long.encode(), 7).is_err());
    }
}
