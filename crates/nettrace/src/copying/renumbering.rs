//! Sequence numbers of a stream whose beginning was cut away.
//!
//! Numbers begin at 1 in each thread, so that a reader who finds a first number of 1000 rightly says that 999 events
//! were lost. In a part of a stream that would be wrong; the numbers are made to begin at 1 again.

use std::collections::HashMap;

use crate::cursor::{Cursor, Fault, FaultKind};
use crate::event::flag;
use crate::{Error, SequenceNumber, ThreadIndex};

/// The bit of a block's flags that says that headers are compressed.
const COMPRESSED: u16 = 1;
/// Where an uncompressed event has its sequence number and its capturing thread.
const FULL_SEQUENCE: usize = 8;
const FULL_CAPTURE_THREAD: usize = 20;

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// The number that becomes 0.
    base: u32,
    /// The last number that was seen.
    last: u32,
}

/// Makes the numbers of each thread begin at 1 behind the cut.
#[derive(Debug, Default)]
pub struct Renumbering {
    threads: HashMap<ThreadIndex, Thread>,
}

impl Renumbering {
    /// For a stream of which everything up to these numbers was cut away.
    pub fn after(last: impl IntoIterator<Item = (ThreadIndex, SequenceNumber)>) -> Renumbering {
        let thread = |number: SequenceNumber| Thread { base: number.0, last: number.0 };
        Renumbering { threads: last.into_iter().map(|(index, number)| (index, thread(number))).collect() }
    }

    /// The number an event gets.
    fn event(&mut self, index: ThreadIndex, number: u32) -> u32 {
        let thread = self.threads.entry(index).or_default();
        // Events between two numbers that are told only add to it, so the last one told is near enough.
        if number.wrapping_sub(1).wrapping_sub(thread.last) >= 1 << 31 {
            // A number from long ago: another thread has got this id and begins at 1.
            thread.base = 0;
        }
        thread.last = number;
        number.wrapping_sub(thread.base)
    }

    /// Appends a copy of the body of a block of events.
    pub fn events(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        self.copy_events(body, out).map_err(|fault| damaged(&fault))
    }

    fn copy_events(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut cursor = Cursor::new(body);
        let head = cursor.u16("size of the block's head")?;
        let flags = cursor.u16("flags of the block")?;
        cursor.take(usize::from(head).saturating_sub(4), "head of the block")?;
        out.extend_from_slice(body.get(..cursor.at()).unwrap_or_default());
        if flags & COMPRESSED != 0 {
            self.copy_compressed(cursor, body, out)
        } else {
            self.copy_full(cursor, out)
        }
    }

    fn copy_compressed(
        &mut self,
        mut cursor: Cursor<'_>,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let (mut metadata, mut payload) = (0, 0);
        // The number of the event before, as it was and as it is now.
        let (mut was, mut is) = (0_u32, 0_u32);
        while !cursor.is_empty() {
            let mut copied = cursor.at();
            let flags = cursor.u8("event flags")?;
            if flags & flag::METADATA != 0 {
                metadata = cursor.var_u32("metadata id")?;
            }
            let step = u32::from(metadata != 0);
            if flags & flag::CAPTURE != 0 {
                out.extend_from_slice(body.get(copied..cursor.at()).unwrap_or_default());
                let number = was.wrapping_add(cursor.var_u32("sequence number")?).wrapping_add(step);
                copied = cursor.at();
                let thread = ThreadIndex(cursor.var_u64("capturing thread")?);
                cursor.var_u32("processor number")?;
                let new = if metadata == 0 { number } else { self.event(thread, number) };
                append_var_u32(out, new.wrapping_sub(step).wrapping_sub(is));
                (was, is) = (number, new);
            } else {
                (was, is) = (was.wrapping_add(step), is.wrapping_add(step));
            }
            if flags & flag::THREAD != 0 {
                cursor.var_u64("thread")?;
            }
            if flags & flag::STACK != 0 {
                cursor.var_u32("stack id")?;
            }
            cursor.var_u64("timestamp")?;
            for activity in [flag::ACTIVITY_OR_LABELS, flag::RELATED_ACTIVITY] {
                if flags & activity != 0 {
                    cursor.guid("activity id")?;
                }
            }
            if flags & flag::PAYLOAD_SIZE != 0 {
                payload = cursor.var_u32("payload size")?;
            }
            cursor.take(payload as usize, "event payload")?;
            out.extend_from_slice(body.get(copied..cursor.at()).unwrap_or_default());
        }
        Ok(())
    }

    fn copy_full(&mut self, mut cursor: Cursor<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
        while !cursor.is_empty() {
            let size = cursor.u32("event size")?;
            let event = cursor.take(size as usize, "event")?;
            let begin = out.len();
            out.extend_from_slice(&size.to_le_bytes());
            out.extend_from_slice(event);
            let number = field(event, FULL_SEQUENCE - 4).map(u32::from_le_bytes);
            let thread = field(event, FULL_CAPTURE_THREAD - 4).map(u64::from_le_bytes);
            let (Some(number), Some(thread)) = (number, thread) else {
                return Err(cursor.short("event"));
            };
            let new = self.event(ThreadIndex(thread), number).to_le_bytes();
            if let Some(place) = out.get_mut(begin + FULL_SEQUENCE..begin + FULL_SEQUENCE + 4) {
                place.copy_from_slice(&new);
            }
        }
        Ok(())
    }

    /// Appends a copy of the body of a sequence point.
    pub fn sequence_point(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        self.copy_sequence_point(body, out).map_err(|fault| damaged(&fault))
    }

    fn copy_sequence_point(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut cursor = Cursor::new(body);
        let time = cursor.u64("time of the sequence point")?;
        let count = cursor.u32("number of threads")?;
        out.extend_from_slice(&time.to_le_bytes());
        out.extend_from_slice(&count.to_le_bytes());
        for _ in 0..count {
            let thread = cursor.u64("thread")?;
            let number = cursor.u32("sequence number")?;
            let base = self.threads.get(&ThreadIndex(thread)).map_or(0, |thread| thread.base);
            // A lower bound that lies before the cut says nothing.
            let new = Some(number.wrapping_sub(base)).filter(|new| *new < 1 << 31).unwrap_or(0);
            out.extend_from_slice(&thread.to_le_bytes());
            out.extend_from_slice(&new.to_le_bytes());
        }
        out.extend_from_slice(cursor.rest());
        Ok(())
    }
}

fn field<const N: usize>(event: &[u8], at: usize) -> Option<[u8; N]> {
    event.get(at..)?.first_chunk().copied()
}

fn append_var_u32(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push((value & 0x7F) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7F) as u8);
}

fn damaged(fault: &Fault) -> Error {
    let problem = match fault.kind {
        FaultKind::Short => "the block ends before it does",
        FaultKind::Invalid(problem) => problem,
    };
    Error::Damaged { offset: fault.at as u64, what: fault.what, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ThreadIndex = ThreadIndex(7);

    /// A block of compressed events: which thread, and the distance to the number of the event before.
    fn block(events: &[(u8, u32)]) -> Vec<u8> {
        let mut body = vec![20, 0, 1, 0];
        body.extend_from_slice(&[0; 16]);
        for (index, (thread, distance)) in events.iter().enumerate() {
            let metadata = index == 0;
            body.push(flag::CAPTURE | if metadata { flag::METADATA } else { 0 });
            if metadata {
                body.push(1);
            }
            append_var_u32(&mut body, *distance);
            // Thread, processor, time.
            body.extend_from_slice(&[*thread, 0, 3]);
        }
        body
    }

    #[test]
    fn numbers_begin_at_one_behind_the_cut() {
        // Thread 7: 1001, thread 8: 501, thread 7: 1002.
        let body = block(&[(7, 1000), (8, 500_u32.wrapping_sub(1001)), (7, 1001 - 501)]);
        let mut numbers =
            Renumbering::after([(A, SequenceNumber(1000)), (ThreadIndex(8), SequenceNumber(490))]);
        let mut out = Vec::new();
        numbers.events(&body, &mut out).unwrap();
        // Thread 7: 1, thread 8: 11 (ten are missing, as they were), thread 7: 2.
        assert_eq!(out, block(&[(7, 0), (8, 9), (7, 1_u32.wrapping_sub(11))]));
        // Thread 7 ends, and another one gets its id.
        out.clear();
        numbers.events(&block(&[(7, 0)]), &mut out).unwrap();
        assert_eq!(out, block(&[(7, 0)]));
    }

    #[test]
    fn a_sequence_point_before_the_cut_claims_nothing() {
        let mut body = 99_u64.to_le_bytes().to_vec();
        body.extend_from_slice(&2_u32.to_le_bytes());
        for (thread, number) in [(7_u64, 1500_u32), (8, 100)] {
            body.extend_from_slice(&thread.to_le_bytes());
            body.extend_from_slice(&number.to_le_bytes());
        }
        let mut numbers =
            Renumbering::after([(A, SequenceNumber(1000)), (ThreadIndex(8), SequenceNumber(490))]);
        let mut out = Vec::new();
        numbers.sequence_point(&body, &mut out).unwrap();
        assert_eq!(out[20..24], 500_u32.to_le_bytes());
        assert_eq!(out[32..36], [0; 4]);
        assert!(numbers.sequence_point(&body[..20], &mut out).is_err());
    }
}
