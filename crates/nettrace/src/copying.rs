//! Writing down what was read: whole streams, or parts of them that are streams again (versions 4 and 5).
//!
//! ```text
//! Reader::for_copying --> WholeBlock --> append_object --> a file
//!                             |
//!                             +--> Renumbering, starting_at: when the beginning was cut away
//! ```
//!
//! A block may stand at another place than it was read from: the zeros that align it are made anew. Where the
//! beginning of a stream is cut away, the metadata must be kept, and the stacks since the last sequence point.

mod renumbering;
mod trace_object;

pub use renumbering::Renumbering;
pub use trace_object::starting_at;

use crate::BlockKind;
use crate::framing::{MAGIC, ObjectType, SERIALIZER, tag};

/// The byte behind the last object, without which readers think that a stream was cut off.
pub const END_OF_STREAM: u8 = tag::NULL;

/// All of a block.
#[derive(Clone, Copy, Debug)]
pub struct WholeBlock<'a> {
    /// What it holds.
    pub kind: BlockKind,
    pub(crate) object: &'a ObjectType,
    /// What lies between its head and its end.
    pub body: &'a [u8],
}

impl<'a> WholeBlock<'a> {
    /// The same block with another body.
    #[must_use]
    pub fn with_body<'b>(&self, body: &'b [u8]) -> WholeBlock<'b>
    where
        'a: 'b,
    {
        WholeBlock { kind: self.kind, object: self.object, body }
    }
}

/// Appends what stands before the first object.
pub fn append_head(out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&length(SERIALIZER.len()));
    out.extend_from_slice(SERIALIZER);
}

/// Appends a block that will stand at `offset` of its stream.
pub fn append_object(out: &mut Vec<u8>, offset: u64, block: &WholeBlock<'_>) {
    let ObjectType { version, readers, name } = block.object;
    let begin = out.len();
    out.extend_from_slice(&[tag::BEGIN, tag::BEGIN, tag::NULL]);
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&readers.to_le_bytes());
    out.extend_from_slice(&length(name.len()));
    out.extend_from_slice(name);
    out.push(tag::END);
    if block.kind != BlockKind::Trace {
        out.extend_from_slice(&length(block.body.len()));
        while !(offset + (out.len() - begin) as u64).is_multiple_of(4) {
            out.push(0);
        }
    }
    out.extend_from_slice(block.body);
    out.push(tag::END);
}

/// Blocks and names come from a reader that takes no more than 16 MB.
fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes()
}

/// A block on its own, to be kept somewhere and written into a stream later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockType {
    kind: BlockKind,
    object: ObjectType,
}

impl BlockType {
    /// The type of a block.
    #[must_use]
    pub fn of(block: &WholeBlock<'_>) -> BlockType {
        BlockType { kind: block.kind, object: block.object.clone() }
    }

    /// What such blocks hold.
    #[must_use]
    pub fn kind(&self) -> BlockKind {
        self.kind
    }

    /// A block of this type.
    #[must_use]
    pub fn block<'a>(&'a self, body: &'a [u8]) -> WholeBlock<'a> {
        WholeBlock { kind: self.kind, object: &self.object, body }
    }
}

/// The earliest and the latest moment of a block of events, as its head tells them; none if it has no such head.
#[must_use]
pub fn time_span(body: &[u8]) -> Option<(crate::Timestamp, crate::Timestamp)> {
    let head = u16::from_le_bytes(*body.first_chunk()?);
    let ticks =
        |at| body.get(at..).and_then(|rest| rest.first_chunk()).map(|bytes| u64::from_le_bytes(*bytes));
    (head >= 20).then_some(())?;
    Some((crate::Timestamp(ticks(4)?), crate::Timestamp(ticks(12)?)))
}
