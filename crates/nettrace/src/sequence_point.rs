//! Sequence points: barriers in time, at which it is said how far each thread has come.

use crate::cursor::{Cursor, Parsed};
use crate::{SequenceNumber, ThreadIndex, Timestamp};

/// Everything before it in the stream was before it in time, everything behind it later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequencePoint {
    /// The moment.
    pub timestamp: Timestamp,
    /// Events that are now known to be lost and were not before.
    pub lost: u64,
}

/// What a sequence point says for the reader itself.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    /// The number each thread has reached at least.
    pub last: Vec<(ThreadIndex, SequenceNumber)>,
    /// Threads are to be forgotten.
    pub flush_threads: bool,
    /// Kinds of events are to be forgotten.
    pub flush_metadata: bool,
}

impl SequencePoint {
    pub(crate) fn read(cursor: &mut Cursor<'_>, v6: bool) -> Parsed<(SequencePoint, Checkpoints)> {
        let timestamp = Timestamp(cursor.u64("time of the sequence point")?);
        let flags = if v6 { cursor.u32("flags of the sequence point")? } else { 0 };
        let count = cursor.u32("number of threads")?;
        // Every thread takes bytes, so a count that is too high ends at the end of the bytes.
        let mut last = Vec::new();
        for _ in 0..count {
            last.push(if v6 { read_thread_v6(cursor)? } else { read_thread_v5(cursor)? });
        }
        let flush_threads = flags & 1 != 0;
        let flush_metadata = flags & 2 != 0;
        Ok((SequencePoint { timestamp, lost: 0 }, Checkpoints { last, flush_threads, flush_metadata }))
    }
}

/// Reads which threads will not be heard of again, and how far they have come (version 6).
pub(crate) fn read_removed_threads(
    cursor: &mut Cursor<'_>,
    mut removed: impl FnMut(ThreadIndex, SequenceNumber),
) -> Parsed<()> {
    while !cursor.is_empty() {
        let (thread, sequence) = read_thread_v6(cursor)?;
        removed(thread, sequence);
    }
    Ok(())
}

fn read_thread_v5(cursor: &mut Cursor<'_>) -> Parsed<(ThreadIndex, SequenceNumber)> {
    Ok((ThreadIndex(cursor.u64("thread")?), SequenceNumber(cursor.u32("sequence number")?)))
}

fn read_thread_v6(cursor: &mut Cursor<'_>) -> Parsed<(ThreadIndex, SequenceNumber)> {
    Ok((ThreadIndex(cursor.var_u64("thread index")?), SequenceNumber(cursor.var_u32("sequence number")?)))
}
