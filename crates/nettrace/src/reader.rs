//! The reader: from bytes to items, one at a time.

mod blocks;

use std::io::Read;
use std::ops::Range;

use crate::block::{Block, State};
use crate::copying::WholeBlock;
use crate::cursor::Cursor;
use crate::event::{Event, EventHeader};
use crate::framing::Framing;
use crate::label::Labels;
use crate::limits::{MAX_LABEL_BYTES, MAX_STACK_BYTES};
use crate::metadata::{EventMetadata, MetadataTable, Slot};
use crate::sequence_point::SequencePoint;
use crate::source::Source;
use crate::span_table::SpanTable;
use crate::stack::{Stack, StackBlock, Stacks};
use crate::thread::Threads;
use crate::{Error, Losses, PointerSize, SequenceNumber, ThreadIndex, TraceInfo};

/// What stands next in a stream.
#[derive(Debug)]
#[non_exhaustive]
pub enum Item<'a> {
    /// What the stream says about itself; always the first item.
    Trace(&'a TraceInfo),
    /// A kind of event; always before the first event of that kind.
    Metadata(&'a EventMetadata),
    /// Stacks that events may refer to from now on. Events carry their stack, so this can be passed over.
    Stacks(Stacks<'a>),
    /// An event.
    Event(Event<'a>),
    /// A barrier in time; stack ids mean something else behind it.
    SequencePoint(SequencePoint),
    /// All of a block, after everything that is in it; only from a reader that was made
    /// [for copying](Reader::for_copying).
    Block(WholeBlock<'a>),
}

/// Which item was found, and where its parts are.
enum Step {
    Trace,
    Metadata(Slot),
    Stacks(StackBlock),
    Event { slot: Slot, payload: Range<usize>, stack: Option<Range<usize>> },
    SequencePoint(SequencePoint),
    Block(Block),
    End,
}

/// Reads a stream from its first byte to its last; see the crate's documentation.
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    framing: Framing,
    state: State,
    trace: Option<TraceInfo>,
    header: EventHeader,
    metadata: MetadataTable,
    stacks: SpanTable,
    labels: SpanTable,
    threads: Threads,
    losses: Losses,
    hands_out_blocks: bool,
}

impl<R: Read> Reader<R> {
    /// Reads `input`, which needs no buffer of its own.
    pub fn new(input: R) -> Self {
        Reader {
            source: Source::new(input),
            framing: Framing::default(),
            state: State::Between,
            trace: None,
            header: EventHeader::default(),
            metadata: MetadataTable::default(),
            stacks: SpanTable::new(MAX_STACK_BYTES),
            labels: SpanTable::new(MAX_LABEL_BYTES),
            threads: Threads::default(),
            losses: Losses::default(),
            hands_out_blocks: false,
        }
    }

    /// Reads `input` for somebody who copies it: blocks are handed out whole as well ([`Item::Block`]), and events
    /// come without their stacks, of which only the depths are kept. Versions 4 and 5 only, which is what running
    /// processes write.
    pub fn for_copying(input: R) -> Self {
        let stacks = SpanTable::of_sizes(MAX_STACK_BYTES);
        Reader { stacks, hands_out_blocks: true, ..Reader::new(input) }
    }

    /// How far each thread has come: the number of its last event.
    pub fn last_sequences(&self) -> impl Iterator<Item = (ThreadIndex, SequenceNumber)> + use<'_, R> {
        self.threads.last_sequences()
    }

    /// What the stream says about itself; known once the first item has come.
    #[must_use]
    pub fn trace(&self) -> Option<&TraceInfo> {
        self.trace.as_ref()
    }

    /// What was lost until now.
    #[must_use]
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// How many bytes of the stream lie behind: everything before the current block.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.source.offset()
    }

    /// The input. Behind the end of a stream a connection may still have to be read to its own end.
    #[must_use]
    pub fn into_inner(self) -> R {
        self.source.into_inner()
    }

    /// The next item; none at the stream's proper end, and after an error.
    ///
    /// An error comes once, after everything that stands before the damage. After one that
    /// [is a timeout](Error::is_timeout) the call can be repeated.
    #[expect(
        clippy::should_implement_trait,
        reason = "an item borrows the reader, which no Iterator can say"
    )]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, Error> {
        let step = match self.advance() {
            Ok(step) => step,
            Err(error) => {
                if !error.is_timeout() {
                    self.state = State::Ended;
                }
                return Err(error);
            }
        };
        Ok(self.item(step))
    }

    /// The item a step has found.
    #[inline]
    fn item(&self, step: Step) -> Option<Item<'_>> {
        Some(match step {
            Step::Event { slot, payload, stack } => {
                let pointer_size = self.pointer_size();
                Item::Event(Event {
                    header: &self.header,
                    metadata: self.metadata.get(slot)?,
                    payload: self.source.bytes().get(payload).unwrap_or_default(),
                    // Runtimes give events without a stack a number too, that of a stack without frames.
                    stack: stack
                        .map(|span| Stack::new(self.header.stack, self.stacks.get(span), pointer_size))
                        .filter(|stack| !stack.is_empty()),
                    labels: self.labels(),
                    threads: &self.threads,
                    pointer_size,
                })
            }
            Step::Trace => Item::Trace(self.trace.as_ref()?),
            Step::Metadata(slot) => Item::Metadata(self.metadata.get(slot)?),
            Step::Stacks(StackBlock { first, count }) => {
                Item::Stacks(Stacks { first, count, table: &self.stacks, pointer_size: self.pointer_size() })
            }
            Step::SequencePoint(point) => Item::SequencePoint(point),
            Step::Block(block) => Item::Block(WholeBlock {
                kind: block.kind,
                object: self.framing.object(),
                body: self.source.bytes().get(..block.size).unwrap_or_default(),
            }),
            Step::End => return None,
        })
    }

    fn pointer_size(&self) -> PointerSize {
        self.trace.as_ref().map_or(PointerSize::Eight, |trace| trace.pointer_size)
    }

    #[inline]
    fn labels(&self) -> Labels<'_> {
        match self.header.labels.0 {
            0 => Labels::default(),
            list => {
                Labels { bytes: self.labels.span(list).map(|span| self.labels.get(span)).unwrap_or_default() }
            }
        }
    }

    /// Goes on to the next item.
    #[inline]
    fn advance(&mut self) -> Result<Step, Error> {
        loop {
            if let State::Events(block) = &mut self.state {
                let bytes = self.source.bytes().get(..block.have).unwrap_or_default();
                let mut cursor = Cursor::starting_at(bytes, block.at);
                if !cursor.is_empty() {
                    let payload = match self.header.read(&mut cursor, block.packing) {
                        Ok(payload) => payload,
                        Err(fault) => return Err(self.explain(fault)),
                    };
                    block.at = cursor.at();
                    self.threads.observe(self.header.capture_thread, self.header.sequence, &mut self.losses);
                    let Some(slot) = self.metadata.slot(self.header.metadata) else {
                        self.losses.events_without_metadata += 1;
                        continue;
                    };
                    let stack = self.stacks.span(self.header.stack.0);
                    self.losses.stacks_missing += u64::from(stack.is_none() && self.header.stack.0 != 0);
                    return Ok(Step::Event { slot, payload, stack });
                }
            }
            if let Some(step) = self.advance_block()? {
                return Ok(step);
            }
        }
    }
}
