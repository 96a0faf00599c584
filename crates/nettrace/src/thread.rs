//! Threads: who they are, and which of their events are missing.

use std::collections::{HashMap, HashSet};

use crate::cursor::{Cursor, Fault, Parsed};
use crate::limits::{MAX_THREAD_BYTES, MAX_THREADS};
use crate::{Losses, ProcessId, SequenceNumber, ThreadId, ThreadIndex};

/// What a stream says of a thread (version 6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Its name.
    pub name: Option<String>,
    /// Its process.
    pub process: Option<ProcessId>,
    /// Its id.
    pub thread: Option<ThreadId>,
    /// Whatever else the writer says.
    pub attributes: Vec<(String, String)>,
}

#[derive(Debug, Default)]
struct Row {
    /// The number of its last event.
    last: Option<u32>,
    info: Option<Box<ThreadInfo>>,
}

/// All threads of a trace.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    rows: HashMap<ThreadIndex, Row>,
    /// The thread of the last event and that event's number: written back when another thread's turn comes.
    current: Option<(ThreadIndex, u32)>,
    info_bytes: usize,
    /// Set once a thread was described, which never happens before version 6.
    described: bool,
    /// Set once threads had to be dropped: a first event with a high number then says nothing.
    evicted: bool,
}

impl Threads {
    #[inline]
    pub fn info(&self, index: ThreadIndex) -> Option<&ThreadInfo> {
        if self.described { self.rows.get(&index)?.info.as_deref() } else { None }
    }

    #[inline]
    pub fn os_id(&self, index: ThreadIndex) -> ThreadId {
        self.info(index).and_then(|info| info.thread).unwrap_or(ThreadId(index.0))
    }

    /// Notes that an event is there and counts those that should have come before it.
    #[inline]
    pub fn observe(&mut self, index: ThreadIndex, sequence: SequenceNumber, losses: &mut Losses) {
        match &mut self.current {
            Some((current, last)) if *current == index && sequence.0 == last.wrapping_add(1) => {
                *last = sequence.0
            }
            _ => self.observe_turn(index, sequence.0, losses),
        }
    }

    fn observe_turn(&mut self, index: ThreadIndex, sequence: u32, losses: &mut Losses) {
        self.write_back();
        let Some(row) = self.row(index, losses) else { return };
        let before = sequence.wrapping_sub(1);
        let gap = row.last.map(|last| before.wrapping_sub(last));
        let lost = match gap {
            Some(gap) if gap < 1 << 31 => gap,
            // A number from long ago: another thread has got this id and begins at 1.
            _ if row.last.is_some() || !self.evicted => before,
            _ => 0,
        };
        if lost > 0 {
            losses.add_events(self.os_id(index), lost);
        }
        self.current = Some((index, sequence));
    }

    /// Notes that a thread had come at least to this number.
    pub fn checkpoint(&mut self, index: ThreadIndex, sequence: SequenceNumber, losses: &mut Losses) {
        self.write_back();
        let evicted = self.evicted;
        let Some(row) = self.row(index, losses) else { return };
        let lost = match row.last {
            Some(last) => sequence.0.wrapping_sub(last),
            None if evicted => 0,
            None => sequence.0,
        };
        // Numbers behind what has been seen are lower bounds that say nothing.
        if row.last.is_none() || lost < 1 << 31 {
            row.last = Some(sequence.0);
            if lost > 0 {
                losses.add_events(self.os_id(index), lost);
            }
        }
    }

    /// How far each thread has come.
    pub fn last_sequences(&self) -> impl Iterator<Item = (ThreadIndex, SequenceNumber)> + use<'_> {
        self.rows.iter().filter_map(|(index, row)| {
            let current = self.current.filter(|(current, _)| current == index).map(|(_, last)| last);
            Some((*index, SequenceNumber(current.or(row.last)?)))
        })
    }

    /// Drops threads that have ended, when there are many: `alive` are those a sequence point named.
    pub fn retain(&mut self, alive: &HashSet<ThreadIndex>) {
        self.write_back();
        if self.rows.len() > MAX_THREADS / 2 {
            self.rows.retain(|index, _| alive.contains(index));
            self.evicted = true;
        }
    }

    pub fn remove(&mut self, index: ThreadIndex) {
        self.write_back();
        self.rows.remove(&index);
    }

    pub fn clear(&mut self) {
        self.current = None;
        self.rows.clear();
        self.info_bytes = 0;
    }

    /// Reads a block of threads (version 6).
    pub fn read_block(&mut self, cursor: &mut Cursor<'_>, losses: &mut Losses) -> Parsed<()> {
        self.write_back();
        while !cursor.is_empty() {
            let size = usize::from(cursor.u16("size of a thread")?);
            let mut row = cursor.part(size, "thread")?;
            let index = ThreadIndex(row.var_u64("thread index").map_err(Fault::within)?);
            let mut info = read_info(&mut row).map_err(Fault::within)?;
            self.info_bytes += size;
            if self.info_bytes > MAX_THREAD_BYTES {
                self.info_bytes -= size;
                info = ThreadInfo { process: info.process, thread: info.thread, ..ThreadInfo::default() };
            }
            if let Some(row) = self.row(index, losses) {
                row.info = Some(Box::new(info));
                self.described = true;
            }
        }
        Ok(())
    }

    fn write_back(&mut self) {
        if let Some((index, last)) = self.current.take()
            && let Some(row) = self.rows.get_mut(&index)
        {
            row.last = Some(last);
        }
    }

    fn row(&mut self, index: ThreadIndex, losses: &mut Losses) -> Option<&mut Row> {
        if self.rows.len() >= MAX_THREADS && !self.rows.contains_key(&index) {
            losses.threads_untracked += 1;
            self.evicted = true;
            return None;
        }
        Some(self.rows.entry(index).or_default())
    }
}

fn read_info(row: &mut Cursor<'_>) -> Parsed<ThreadInfo> {
    let mut info = ThreadInfo::default();
    while !row.is_empty() {
        match row.u8("kind of a thread's property")? {
            1 => info.name = Some(row.utf8("thread name")?.into_owned()),
            2 => info.process = Some(ProcessId(row.var_u64("process id")?)),
            3 => info.thread = Some(ThreadId(row.var_u64("thread id")?)),
            4 => {
                let key = row.utf8("key of a thread's property")?.into_owned();
                info.attributes.push((key, row.utf8("value of a thread's property")?.into_owned()));
            }
            // Its size is not known, but that of the row is.
            _ => break,
        }
    }
    Ok(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ThreadIndex = ThreadIndex(10);
    const B: ThreadIndex = ThreadIndex(11);

    fn lost(events: &[(ThreadIndex, u32)]) -> (Threads, Losses) {
        let (mut threads, mut losses) = (Threads::default(), Losses::default());
        for (index, sequence) in events {
            threads.observe(*index, SequenceNumber(*sequence), &mut losses);
        }
        (threads, losses)
    }

    #[test]
    fn a_trace_without_gaps_has_no_losses() {
        let (_, losses) = lost(&[(A, 1), (A, 2), (B, 1), (A, 3), (B, 2)]);
        assert!(losses.is_empty());
    }

    #[test]
    fn gaps_are_counted_by_thread() {
        let (_, losses) = lost(&[(A, 1), (B, 3), (A, 5), (A, 6), (B, 4)]);
        assert_eq!(losses.events, 5);
        assert_eq!(losses.by_thread().collect::<Vec<_>>(), [(ThreadId(10), 3), (ThreadId(11), 2)]);
    }

    #[test]
    fn numbers_go_round_and_ids_are_used_again() {
        let (mut threads, mut losses) = (Threads::default(), Losses::default());
        threads.current = Some((A, u32::MAX));
        threads.rows.entry(A).or_default();
        threads.observe(A, SequenceNumber(0), &mut losses);
        threads.observe(A, SequenceNumber(1), &mut losses);
        threads.observe(A, SequenceNumber(500), &mut losses);
        assert_eq!(losses.events, 498);
        threads.observe(A, SequenceNumber(1), &mut losses);
        assert_eq!(losses.events, 498);
    }

    #[test]
    fn a_sequence_point_tells_what_never_came() {
        let (mut threads, mut losses) = lost(&[(A, 1), (A, 2)]);
        threads.checkpoint(A, SequenceNumber(2), &mut losses);
        assert!(losses.is_empty());
        threads.checkpoint(A, SequenceNumber(7), &mut losses);
        threads.checkpoint(B, SequenceNumber(4), &mut losses);
        assert_eq!(losses.by_thread().collect::<Vec<_>>(), [(ThreadId(10), 5), (ThreadId(11), 4)]);
        threads.observe(A, SequenceNumber(8), &mut losses);
        threads.observe(B, SequenceNumber(5), &mut losses);
        // A lower bound that is lower than what was seen.
        threads.checkpoint(A, SequenceNumber(6), &mut losses);
        assert_eq!(losses.events, 9);
    }

    #[test]
    fn more_threads_than_are_followed() {
        let mut events: Vec<_> = (0..MAX_THREADS as u64).map(|index| (ThreadIndex(index), 1)).collect();
        events.push((ThreadIndex(1 << 40), 9));
        let (mut threads, mut losses) = lost(&events);
        assert_eq!((losses.events, losses.threads_untracked), (0, 1));
        threads.retain(&HashSet::from([A]));
        assert_eq!(threads.rows.len(), 1);
        threads.observe(A, SequenceNumber(3), &mut losses);
        threads.observe(B, SequenceNumber(70), &mut losses);
        assert_eq!(losses.by_thread().collect::<Vec<_>>(), [(ThreadId(10), 1)]);
    }

    #[test]
    fn a_row_tells_name_and_ids() {
        let (mut threads, mut losses) = (Threads::default(), Losses::default());
        let bytes = b"\x10\x00\x0a\x01\x04main\x02\x07\x03\x09\x04\x01k\x01v\x03\x00\x0b\x63\x63";
        threads.read_block(&mut Cursor::new(bytes), &mut losses).unwrap();
        let info = threads.info(A).unwrap();
        assert_eq!((info.name.as_deref(), info.process), (Some("main"), Some(ProcessId(7))));
        assert_eq!((threads.os_id(A), info.attributes.len()), (ThreadId(9), 1));
        assert_eq!(threads.info(B), Some(&ThreadInfo::default()));
        assert_eq!(threads.os_id(B), ThreadId(11));
    }
}
