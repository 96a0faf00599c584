//! What the reader does between events: one block after the other.

use std::collections::HashSet;
use std::io::Read;

use super::{Reader, Step};
use crate::Error;
use crate::block::{Block, State};
use crate::cursor::{Cursor, Fault, FaultKind, Parsed};
use crate::event::EventHeader;
use crate::framing::{BlockKind, BlockStart};
use crate::label::read_label_block;
use crate::limits::MAX_BLOCK_SIZE;
use crate::metadata::{EventMetadata, read_row_v6};
use crate::sequence_point::{Checkpoints, SequencePoint, read_removed_threads};
use crate::stack::StackBlock;

impl<R: Read> Reader<R> {
    /// Does what is to be done when there is no event to be read.
    pub(super) fn advance_block(&mut self) -> Result<Option<Step>, Error> {
        match self.state {
            State::Ended => return Ok(Some(Step::End)),
            State::Between => {
                let start = self.framing.next_block(&mut self.source)?;
                self.state = self.begin(start)?;
            }
            State::Skipping(mut left) => {
                let outcome = self.source.skip(&mut left);
                self.state = State::Skipping(left);
                outcome?;
                if left > 0 {
                    return Err(self.source.cut_off(BlockKind::Unknown.name()));
                }
                self.state = State::Between;
            }
            State::Filling(start) => {
                let size = start.size as usize;
                let have = self.source.fill(size)?;
                let block = Block::new(start, size, have);
                // Set before it is read, so that what goes wrong in it can be explained.
                self.state = State::Done(block);
                let mut step = None;
                self.state = self.open(block, &mut step)?;
                return Ok(step);
            }
            State::Metadata(mut block) => {
                let found = self.next_metadata(&mut block);
                let found = found.map_err(|fault| self.explain(fault))?;
                self.state = State::Metadata(block);
                match found {
                    Some((metadata, size)) => match self.metadata.insert(metadata, size) {
                        Some(slot) => return Ok(Some(Step::Metadata(slot))),
                        None => self.losses.metadata_forgotten += 1,
                    },
                    None => return self.finish(block),
                }
            }
            State::Events(block) | State::Done(block) => return self.finish(block),
            State::HandedOut(block) => self.leave(block),
        }
        Ok(None)
    }

    /// What to do with a block whose head has been read.
    fn begin(&mut self, start: BlockStart) -> Result<State, Error> {
        let BlockStart { kind, size, .. } = start;
        if kind == BlockKind::End {
            return Ok(State::Ended);
        }
        if kind == BlockKind::Unknown {
            self.losses.blocks_unknown += 1;
            if !self.hands_out_blocks {
                return Ok(State::Skipping(u64::from(size)));
            }
        }
        let offset = self.source.offset();
        if size as usize > MAX_BLOCK_SIZE {
            let (what, limit) = (kind.name(), MAX_BLOCK_SIZE as u64);
            return Err(Error::TooLarge { offset, what, size: u64::from(size), limit });
        }
        if self.trace.is_none() && kind != BlockKind::Trace {
            return Err(Error::Damaged {
                offset,
                what: kind.name(),
                problem: "the trace is not yet described",
            });
        }
        Ok(State::Filling(start))
    }

    /// Reads a block that holds one thing, or the head of one that holds many.
    fn open(&mut self, block: Block, step: &mut Option<Step>) -> Result<State, Error> {
        let bytes = self.source.bytes().get(..block.have).unwrap_or_default();
        let mut cursor = Cursor::new(bytes);
        let cursor = &mut cursor;
        let opened = match block.kind {
            BlockKind::Events => block.open_events(cursor).map(State::Events),
            BlockKind::Metadata => block.open_metadata(cursor).map(State::Metadata),
            BlockKind::Trace => block.open_trace(cursor).map(|trace| {
                self.trace = Some(trace);
                *step = Some(Step::Trace);
                State::Done(block)
            }),
            BlockKind::Stacks => {
                let mut read = StackBlock::default();
                let outcome = StackBlock::read(cursor, &mut self.stacks, &mut read);
                self.losses.stacks_forgotten = self.stacks.forgotten();
                *step = Some(Step::Stacks(read));
                outcome.map(|()| State::Done(block))
            }
            BlockKind::SequencePoint => {
                SequencePoint::read(cursor, block.is_v6()).map(|(point, checkpoints)| {
                    *step = Some(Step::SequencePoint(self.pass(point, &checkpoints, block)));
                    State::Done(block)
                })
            }
            BlockKind::Threads => {
                self.threads.read_block(cursor, &mut self.losses).map(|()| State::Done(block))
            }
            BlockKind::RemovedThreads => {
                let outcome = read_removed_threads(cursor, |thread, sequence| {
                    self.threads.checkpoint(thread, sequence, &mut self.losses);
                    self.threads.remove(thread);
                });
                outcome.map(|()| State::Done(block))
            }
            BlockKind::Labels => {
                let outcome = read_label_block(cursor, &mut self.labels);
                self.losses.labels_forgotten = self.labels.forgotten();
                outcome.map(|()| State::Done(block))
            }
            BlockKind::Unknown | BlockKind::End => Ok(State::Done(block)),
        };
        if matches!(opened, Ok(State::Events(_) | State::Metadata(_))) {
            self.header = EventHeader::default();
        }
        opened.map_err(|fault| self.explain(fault))
    }

    /// Compares how far threads have come with what was seen of them, and forgets what does not hold any longer.
    fn pass(&mut self, point: SequencePoint, checkpoints: &Checkpoints, block: Block) -> SequencePoint {
        let before = self.losses.events;
        for (thread, sequence) in &checkpoints.last {
            self.threads.checkpoint(*thread, *sequence, &mut self.losses);
        }
        self.stacks.clear();
        self.labels.clear();
        if checkpoints.flush_threads {
            self.threads.clear();
        } else if !block.is_v6() {
            let alive: HashSet<_> = checkpoints.last.iter().map(|(thread, _)| *thread).collect();
            self.threads.retain(&alive);
        }
        if checkpoints.flush_metadata {
            self.metadata.clear();
        }
        SequencePoint { lost: self.losses.events - before, ..point }
    }

    /// The next row of a block of metadata, and what it takes in the stream.
    fn next_metadata(&mut self, block: &mut Block) -> Parsed<Option<(EventMetadata, usize)>> {
        let bytes = self.source.bytes().get(..block.have).unwrap_or_default();
        let mut cursor = Cursor::starting_at(bytes, block.at);
        if cursor.is_empty() {
            return Ok(None);
        }
        let row = if block.is_v6() {
            read_row_v6(&mut cursor)?
        } else {
            let payload = self.header.read(&mut cursor, block.packing)?;
            let size = payload.len();
            (EventMetadata::read_v5(&mut Cursor::over(bytes, payload)).map_err(Fault::within)?, size)
        };
        block.at = cursor.at();
        Ok(Some(row))
    }

    /// Leaves a block that has been read as far as it goes.
    fn finish(&mut self, block: Block) -> Result<Option<Step>, Error> {
        if block.have < block.size {
            return Err(self.source.cut_off(block.kind.name()));
        }
        if self.hands_out_blocks && !block.is_v6() {
            self.state = State::HandedOut(block);
            return Ok(Some(Step::Block(block)));
        }
        self.leave(block);
        Ok(None)
    }

    fn leave(&mut self, block: Block) {
        self.source.consume(block.size);
        self.state = State::Between;
    }

    /// Says what a fault in the current block means for the stream.
    #[cold]
    pub(super) fn explain(&mut self, fault: Fault) -> Error {
        let cut = self.state.block().is_some_and(|block| block.have < block.size);
        let offset = self.source.offset() + fault.at as u64;
        match fault.kind {
            FaultKind::Short if cut => self.source.cut_off(fault.what),
            FaultKind::Short => {
                Error::Damaged { offset, what: fault.what, problem: "the block ends before it does" }
            }
            FaultKind::Invalid(problem) => Error::Damaged { offset, what: fault.what, problem },
        }
    }
}
