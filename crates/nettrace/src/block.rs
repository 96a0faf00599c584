//! Where the reader is.

use crate::cursor::{Cursor, Parsed};
use crate::event::Packing;
use crate::framing::{BlockKind, BlockStart};
use crate::{FormatVersion, TraceInfo};

/// The bit of a block's flags that says that headers are compressed.
const COMPRESSED: u16 = 1;
/// The smallest head of a block of events: its size and its flags.
const SMALLEST_HEAD: u16 = 4;

/// What comes next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// The head of a block.
    Between,
    /// The bytes of a block.
    Filling(BlockStart),
    /// Bytes nobody needs.
    Skipping(u64),
    /// An event.
    Events(Block),
    /// A row of metadata.
    Metadata(Block),
    /// The end of a block.
    Done(Block),
    /// A block that has been handed out whole.
    HandedOut(Block),
    /// Nothing.
    Ended,
}

impl State {
    pub fn block(&self) -> Option<&Block> {
        match self {
            State::Events(block) | State::Metadata(block) | State::Done(block) | State::HandedOut(block) => {
                Some(block)
            }
            _ => None,
        }
    }
}

/// A block in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub kind: BlockKind,
    version: FormatVersion,
    /// How long it should be.
    pub size: usize,
    /// How much of it there is; less if the stream is cut off.
    pub have: usize,
    /// How much of it has been read.
    pub at: usize,
    pub packing: Packing,
}

impl Block {
    pub fn new(start: BlockStart, size: usize, have: usize) -> Self {
        Block { kind: start.kind, version: start.version, size, have, at: 0, packing: Packing::CompressedV5 }
    }

    pub fn is_v6(&self) -> bool {
        self.version == FormatVersion::V6
    }

    pub fn open_trace(&self, cursor: &mut Cursor<'_>) -> Parsed<TraceInfo> {
        match self.version {
            FormatVersion::V6 => TraceInfo::read_v6(cursor),
            version => TraceInfo::read_v5(cursor, version),
        }
    }

    /// Reads the head of a block of events.
    pub fn open_events(self, cursor: &mut Cursor<'_>) -> Parsed<Block> {
        let before = *cursor;
        let head = cursor.u16("size of the block's head")?;
        if head < SMALLEST_HEAD {
            return Err(before.invalid("size of the block's head", "too small"));
        }
        let flags = cursor.u16("flags of the block")?;
        cursor.take(usize::from(head - SMALLEST_HEAD), "head of the block")?;
        let packing = match (flags & COMPRESSED != 0, self.is_v6()) {
            (true, false) => Packing::CompressedV5,
            (true, true) => Packing::CompressedV6,
            (false, false) => Packing::FullV5,
            (false, true) => Packing::FullV6,
        };
        Ok(Block { at: cursor.at(), packing, ..self })
    }

    /// Reads the head of a block of metadata.
    pub fn open_metadata(self, cursor: &mut Cursor<'_>) -> Parsed<Block> {
        if !self.is_v6() {
            return self.open_events(cursor);
        }
        let head = cursor.u16("size of the block's head")?;
        cursor.take(usize::from(head), "head of the block")?;
        Ok(Block { at: cursor.at(), ..self })
    }
}
