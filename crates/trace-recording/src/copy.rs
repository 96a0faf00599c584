//! The recording thread: reads a stream, hands its blocks on, counts what is in it and what is not.

use std::collections::HashSet;
use std::io::Read;
use std::time::Duration;

use nettrace::copying::WholeBlock;
use nettrace::{Item, Losses, Reader, SequenceNumber, StackId, ThreadIndex, Timestamp, TraceInfo};
use runtime_events::provider;

use crate::live::Live;
use crate::watch::{Watch, Watcher};

/// Runtimes walk a stack no deeper than this; a stack of that depth has lost its beginning.
pub const DEEPEST_STACK: usize = 100;

/// Where blocks go.
pub(crate) trait Sink {
    /// Takes a block.
    fn block(&mut self, block: &WholeBlock<'_>);

    /// Whether it wants to know how far threads have come.
    fn wants_numbers(&self) -> bool {
        false
    }

    /// How far threads have come, up to the last block.
    fn numbers(&mut self, _numbers: Vec<(ThreadIndex, SequenceNumber)>) {}

    /// Bytes that are kept now.
    fn bytes(&self) -> u64;

    /// Whether blocks cannot be kept any more.
    fn has_failed(&self) -> bool;
}

/// How a stream ended.
#[derive(Debug)]
pub enum StreamEnd {
    /// As the runtime ends it.
    Proper,
    /// In the middle: the target died, or was given up.
    CutOff,
    /// With something that cannot be read.
    Damaged(nettrace::Error),
}

/// What is in a recording, and what is not.
#[derive(Debug)]
pub struct Tally {
    /// Events, without those that only name things at the end.
    pub events: u64,
    /// Events that name things: the rundown.
    pub naming_events: u64,
    /// Events with a stack.
    pub with_stack: u64,
    /// Of those, how many have lost the outer end of it: the runtime walks 100 frames and no more.
    pub truncated_stacks: u64,
    /// What was lost.
    pub losses: Losses,
    /// From the first event to the last.
    pub span: Duration,
    /// How the stream ended.
    pub end: StreamEnd,
}

/// Kinds of events are numbered from 1 up; beyond this they are not looked up.
const MOST_KINDS: usize = 1 << 16;

#[derive(Default)]
struct Counting {
    events: u64,
    naming: u64,
    with_stack: u64,
    truncated: u64,
    /// Whether events of a kind are of the rundown, by the number of the kind.
    is_naming: Vec<bool>,
    /// Stacks at the limit, until the next sequence point.
    deep: HashSet<StackId>,
    /// Stacks without frames: events without a stack point to one.
    empty: HashSet<StackId>,
    span: Option<(Timestamp, Timestamp)>,
}

impl Counting {
    fn event(&mut self, kind: u32, stack: StackId, at: Timestamp) {
        if self.is_naming.get(kind as usize).copied().unwrap_or(false) {
            self.naming += 1;
            return;
        }
        self.events += 1;
        if stack.0 != 0 && !self.empty.contains(&stack) {
            self.with_stack += 1;
            self.truncated += u64::from(!self.deep.is_empty() && self.deep.contains(&stack));
        }
        self.span = Some(self.span.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
    }

    fn kind(&mut self, kind: u32, is_naming: bool) {
        let index = kind as usize;
        if is_naming && index < MOST_KINDS {
            if self.is_naming.len() <= index {
                self.is_naming.resize(index + 1, false);
            }
            if let Some(place) = self.is_naming.get_mut(index) {
                *place = true;
            }
        }
    }

    fn tally(self, trace: Option<&TraceInfo>, losses: Losses, end: StreamEnd) -> Tally {
        let span = trace.zip(self.span).map(|(trace, (first, last))| trace.between(first, last));
        Tally {
            events: self.events,
            naming_events: self.naming,
            with_stack: self.with_stack,
            truncated_stacks: self.truncated,
            losses,
            span: span.unwrap_or_default(),
            end,
        }
    }
}

/// Reads a stream to its end, whatever becomes of the blocks: a runtime must not wait for us.
pub(crate) fn copy(stream: impl Read, sink: &mut dyn Sink, watch: Watch, live: &Live) -> Tally {
    let mut reader = Reader::for_copying(stream);
    let mut watcher = Watcher::new(watch);
    let mut counting = Counting::default();
    let end = loop {
        match reader.next() {
            Ok(None) => break StreamEnd::Proper,
            Err(nettrace::Error::Truncated { .. }) => break StreamEnd::CutOff,
            Err(error) => break StreamEnd::Damaged(error),
            Ok(Some(Item::Event(event))) => {
                let header = event.header;
                counting.event(header.metadata.0, header.stack, header.timestamp);
                watcher.event(&event, live);
                continue;
            }
            Ok(Some(Item::Trace(trace))) => watcher.trace(trace),
            Ok(Some(Item::Metadata(metadata))) => {
                counting.kind(metadata.id.0, metadata.provider == provider::RUNDOWN);
                watcher.metadata(metadata);
            }
            Ok(Some(Item::Stacks(stacks))) => {
                for (id, depth) in stacks.depths() {
                    match depth {
                        0 => _ = counting.empty.insert(id),
                        DEEPEST_STACK.. => _ = counting.deep.insert(id),
                        _ => {}
                    }
                }
            }
            Ok(Some(Item::SequencePoint(_))) => {
                counting.deep.clear();
                counting.empty.clear();
            }
            Ok(Some(Item::Block(block))) => sink.block(&block),
            Ok(Some(_)) => {}
        }
        if sink.wants_numbers() {
            sink.numbers(reader.last_sequences().collect());
        }
        if sink.has_failed() {
            live.fail();
        }
        live.count(counting.events, reader.losses().events, sink.bytes());
    };
    counting.tally(reader.trace(), reader.losses().clone(), end)
}

/// A sink for streams that are only looked at.
struct Nowhere;

impl Sink for Nowhere {
    fn block(&mut self, _block: &WholeBlock<'_>) {}

    fn bytes(&self) -> u64 {
        0
    }

    fn has_failed(&self) -> bool {
        false
    }
}

/// What is in a file that was recorded; none if it cannot be opened.
#[must_use]
pub fn inspect(path: &std::path::Path) -> Option<Tally> {
    let file = std::fs::File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    Some(copy(file, &mut Nowhere, Watch::default(), &Live::default()))
}
