//! The past that a flight recorder holds: on disk, in segments of which the oldest is dropped whole.
//!
//! ```text
//! block --> what the trace is, kinds of events ---> kept for ever
//!       \-> events, stacks, sequence points -----> segment | segment | segment   (files without a name)
//!                                                     |
//!                   dropped: its stacks stay, until a sequence point makes them void
//! ```
//!
//! The files have no name, so the kernel removes them however the tool ends.

mod segment;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nettrace::copying::{BlockType, Renumbering, WholeBlock, starting_at};
use nettrace::{BlockKind, SequenceNumber, ThreadIndex, Timestamp};

use self::segment::Segment;
use crate::copy::Sink;
use crate::error::RecordingError;
use crate::file::TraceFile;
use crate::keep::Keep;

/// What is kept is so many segments, and one that is being filled.
const SEGMENTS: u32 = 16;
/// A segment is worth a file if it is at least as large or as long as this.
const SMALLEST: u64 = 64 << 10;
const SHORTEST: Duration = Duration::from_millis(200);

/// The past of one session.
pub(crate) struct Spool {
    folder: PathBuf,
    keep: Keep,
    /// Set once the session ends: from then on nothing is dropped, and names of code are added.
    ends: Arc<AtomicBool>,
    types: Vec<BlockType>,
    trace: Option<(u8, Vec<u8>)>,
    metadata: Segment,
    /// Stacks of dropped segments to which events that are kept may refer.
    stacks: Segment,
    segments: VecDeque<Segment>,
    failure: Option<io::Error>,
}

impl Spool {
    pub fn new(folder: &Path, keep: Keep, ends: Arc<AtomicBool>) -> Result<Spool, RecordingError> {
        let make = || Segment::new(folder, Vec::new());
        let made = (|| Ok((make()?, make()?, make()?)))();
        let (metadata, stacks, first) =
            made.map_err(|source| RecordingError::Write { path: folder.to_owned(), source })?;
        Ok(Spool {
            folder: folder.to_owned(),
            keep,
            ends,
            types: Vec::new(),
            trace: None,
            metadata,
            stacks,
            segments: VecDeque::from([first]),
            failure: None,
        })
    }

    /// Types are few, and numbered as they come.
    fn kind_of(&mut self, block: &WholeBlock<'_>) -> u8 {
        let this = BlockType::of(block);
        let number = self.types.iter().position(|known| *known == this).unwrap_or_else(|| {
            self.types.push(this);
            self.types.len() - 1
        });
        // More types than a byte can number are none that a runtime writes.
        u8::try_from(number).unwrap_or(u8::MAX)
    }

    fn put(&mut self, block: &WholeBlock<'_>) -> io::Result<()> {
        let kind = self.kind_of(block);
        match block.kind {
            BlockKind::Trace => self.trace = Some((kind, block.body.to_vec())),
            BlockKind::Metadata => self.metadata.append(kind, block)?,
            _ => {
                while let Some(last) = self.segments.back_mut() {
                    match last.append(kind, block) {
                        Ok(()) => break,
                        // On a full disk the past makes room for the present, as long as there is some.
                        Err(error) if self.segments.len() < 2 => return Err(error),
                        Err(_) => self.drop_oldest()?,
                    }
                }
            }
        }
        Ok(())
    }

    fn is_full(&self, segment: &Segment) -> bool {
        let by_time = self.keep.time.map(|time| (time / SEGMENTS).max(SHORTEST));
        let by_size = self.keep.bytes.map(|bytes| (bytes / u64::from(SEGMENTS)).max(SMALLEST));
        segment.has_events()
            && (by_time.is_some_and(|time| segment.age() >= time)
                || by_size.is_some_and(|bytes| segment.size() >= bytes))
    }

    /// Whether all that is wanted is there without the oldest segment.
    fn can_do_without_oldest(&self) -> bool {
        let Some(second) = self.segments.get(1) else { return false };
        let rest: u64 = self.segments.iter().skip(1).map(Segment::size).sum();
        self.keep.time.is_some_and(|time| second.age() >= time)
            || self.keep.bytes.is_some_and(|bytes| rest >= bytes)
    }

    fn drop_oldest(&mut self) -> io::Result<()> {
        let Some(oldest) = self.segments.pop_front() else { return Ok(()) };
        if oldest.passed_sequence_point() {
            self.stacks.clear()?;
        }
        oldest.copy_stacks_to(&mut self.stacks)
    }

    /// Writes what is kept as a stream of its own.
    pub fn save(&mut self, file: &mut TraceFile) -> Result<(), RecordingError> {
        let Some((kind, body)) = &self.trace else { return Ok(()) };
        let start = self.segments.iter().filter_map(Segment::earliest).min();
        let body = starting_at(body, start.unwrap_or(Timestamp(0)));
        if let Some(block_type) = self.types.get(usize::from(*kind)) {
            file.append(&block_type.block(&body))?;
        }
        let numbers = self.segments.front().map(|first| first.numbers().to_vec()).unwrap_or_default();
        let mut numbers = Renumbering::after(numbers);
        let parts = [&mut self.metadata, &mut self.stacks].into_iter().chain(self.segments.iter_mut());
        let mut changed = Vec::new();
        for part in parts {
            part.read(|kind, body| {
                let Some(block_type) = self.types.get(usize::from(kind)) else { return Ok(()) };
                changed.clear();
                let understood = match block_type.kind() {
                    BlockKind::Events => numbers.events(body, &mut changed),
                    BlockKind::SequencePoint => numbers.sequence_point(body, &mut changed),
                    _ => {
                        changed.extend_from_slice(body);
                        Ok(())
                    }
                };
                // The reader has understood it once; what it could not, it has not handed out.
                if understood.is_ok() { file.append(&block_type.block(&changed)) } else { Ok(()) }
            })
            .map_err(|error| error.into_recording_error(&self.folder))??;
        }
        Ok(())
    }

    /// Why not everything is there.
    pub fn take_failure(&mut self) -> Option<RecordingError> {
        let source = self.failure.take()?;
        Some(RecordingError::Write { path: self.folder.clone(), source })
    }
}

impl Sink for Spool {
    fn block(&mut self, block: &WholeBlock<'_>) {
        if self.failure.is_none() {
            self.failure = self.put(block).err();
        }
    }

    fn wants_numbers(&self) -> bool {
        !self.ends.load(Ordering::Acquire) && self.segments.back().is_some_and(|last| self.is_full(last))
    }

    fn numbers(&mut self, numbers: Vec<(ThreadIndex, SequenceNumber)>) {
        let grown = (|| {
            self.segments.push_back(Segment::new(&self.folder, numbers)?);
            while self.can_do_without_oldest() {
                self.drop_oldest()?;
            }
            Ok(())
        })();
        if let Err(error) = grown {
            self.failure.get_or_insert(error);
        }
    }

    fn bytes(&self) -> u64 {
        self.segments.iter().map(Segment::size).sum()
    }

    fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}
