//! One event: what its header says, and how headers are packed.

use std::ops::Range;

use crate::cursor::{Cursor, Fault, Parsed};
use crate::label::{Label, Labels};
use crate::thread::{ThreadInfo, Threads};
use crate::{
    EventMetadata, EventVersion, Guid, Keywords, LabelListId, Level, MetadataId, Opcode, PayloadReader,
    PointerSize, ProcessId, ProcessorNumber, SequenceNumber, Stack, StackId, ThreadId, ThreadIndex,
    Timestamp,
};

/// Whether later events in the stream may have been earlier in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Nothing is promised.
    #[default]
    Unsorted,
    /// Every event that follows in the stream is as late or later.
    Sorted,
}

/// What stands before an event's payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventHeader {
    /// The kind of event.
    pub metadata: MetadataId,
    /// The thread it is about.
    pub thread: ThreadIndex,
    /// The thread that wrote it, which is another one for samples.
    pub capture_thread: ThreadIndex,
    /// The processor it was written on; runtimes up to 10 do not tell on Linux.
    pub processor: Option<ProcessorNumber>,
    /// Its place among all events of the thread that wrote it.
    pub sequence: SequenceNumber,
    /// When it happened.
    pub timestamp: Timestamp,
    /// Where it happened; see [`Event::stack`].
    pub stack: StackId,
    /// The activity it belongs to (before version 6; see [`Event::activity`]).
    pub activity: Guid,
    /// The activity that caused this one (before version 6; see [`Event::related_activity`]).
    pub related_activity: Guid,
    /// Its labels (version 6).
    pub labels: LabelListId,
    /// Whether it is a barrier in time.
    pub order: Order,
    pub(crate) payload_size: u32,
}

/// How the headers of a block are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    CompressedV5,
    CompressedV6,
    FullV5,
    FullV6,
}

/// Bits of the first byte of a compressed header: which fields differ from those of the event before.
pub(crate) mod flag {
    pub const METADATA: u8 = 1;
    pub const CAPTURE: u8 = 2;
    pub const THREAD: u8 = 4;
    pub const STACK: u8 = 8;
    pub const ACTIVITY_OR_LABELS: u8 = 16;
    pub const RELATED_ACTIVITY: u8 = 32;
    pub const SORTED: u8 = 64;
    pub const PAYLOAD_SIZE: u8 = 128;
}

/// In a full header this bit of the metadata id says that an event is *not* a barrier in time.
const UNSORTED: u32 = 1 << 31;

impl EventHeader {
    /// Reads the next header over the one before it and says where the payload behind it lies.
    #[inline]
    pub(crate) fn read(&mut self, cursor: &mut Cursor<'_>, packing: Packing) -> Parsed<Range<usize>> {
        match packing {
            Packing::CompressedV5 => self.read_compressed::<false>(cursor)?,
            Packing::CompressedV6 => self.read_compressed::<true>(cursor)?,
            Packing::FullV5 => return self.read_full::<false>(cursor),
            Packing::FullV6 => return self.read_full::<true>(cursor),
        }
        let start = cursor.at();
        cursor.take(self.payload_size as usize, "event payload")?;
        Ok(start..cursor.at())
    }

    #[inline]
    fn read_compressed<const V6: bool>(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let flags = cursor.u8("event flags")?;
        if flags & flag::METADATA != 0 {
            self.metadata = MetadataId(cursor.var_u32("metadata id")?);
        }
        let mut sequence = self.sequence.0;
        if flags & flag::CAPTURE != 0 {
            sequence = sequence.wrapping_add(cursor.var_u32("sequence number")?);
            self.capture_thread = ThreadIndex(cursor.var_u64("capturing thread")?);
            self.processor = processor(cursor.var_u32("processor number")?);
        }
        // Rows of metadata, which are written like events before version 6, are not counted.
        if V6 || self.metadata != MetadataId(0) {
            sequence = sequence.wrapping_add(1);
        }
        self.sequence = SequenceNumber(sequence);
        if flags & flag::THREAD != 0 {
            self.thread = ThreadIndex(cursor.var_u64("thread")?);
        }
        if flags & flag::STACK != 0 {
            self.stack = StackId(cursor.var_u32("stack id")?);
        }
        self.timestamp = Timestamp(self.timestamp.0.wrapping_add(cursor.var_u64("timestamp")?));
        if flags & flag::ACTIVITY_OR_LABELS != 0 {
            if V6 {
                self.labels = LabelListId(cursor.var_u32("label list id")?);
            } else {
                self.activity = cursor.guid("activity id")?;
            }
        }
        if !V6 && flags & flag::RELATED_ACTIVITY != 0 {
            self.related_activity = cursor.guid("related activity id")?;
        }
        self.order = if flags & flag::SORTED != 0 { Order::Sorted } else { Order::Unsorted };
        if flags & flag::PAYLOAD_SIZE != 0 {
            self.payload_size = cursor.var_u32("payload size")?;
        }
        Ok(())
    }

    fn read_full<const V6: bool>(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Range<usize>> {
        let size = cursor.u32("event size")?;
        // The size includes what pads the event to four bytes.
        let mut event = cursor.part(size as usize, "event")?;
        let metadata = event.u32("metadata id").map_err(Fault::within)?;
        self.metadata = MetadataId(metadata & !UNSORTED);
        self.order = if metadata & UNSORTED == 0 { Order::Sorted } else { Order::Unsorted };
        self.sequence = SequenceNumber(event.u32("sequence number").map_err(Fault::within)?);
        self.thread = ThreadIndex(event.u64("thread").map_err(Fault::within)?);
        self.capture_thread = ThreadIndex(event.u64("capturing thread").map_err(Fault::within)?);
        self.processor = processor(event.u32("processor number").map_err(Fault::within)?);
        self.stack = StackId(event.u32("stack id").map_err(Fault::within)?);
        self.timestamp = Timestamp(event.u64("timestamp").map_err(Fault::within)?);
        if V6 {
            self.labels = LabelListId(event.u32("label list id").map_err(Fault::within)?);
        } else {
            self.activity = event.guid("activity id").map_err(Fault::within)?;
            self.related_activity = event.guid("related activity id").map_err(Fault::within)?;
        }
        self.payload_size = event.u32("payload size").map_err(Fault::within)?;
        let start = event.at();
        event.take(self.payload_size as usize, "event payload").map_err(Fault::within)?;
        Ok(start..event.at())
    }
}

/// All bits are set where the writer does not know it.
#[inline]
fn processor(number: u32) -> Option<ProcessorNumber> {
    (number != u32::MAX).then_some(ProcessorNumber(number))
}

/// An event, as it lies in the reader's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Thread, time, order.
    pub header: &'a EventHeader,
    /// What kind of event it is.
    pub metadata: &'a EventMetadata,
    /// Its data; see [`Event::reader`].
    pub payload: &'a [u8],
    /// Where it happened; none if its stack has no frames or is not in the stream.
    pub stack: Option<Stack<'a>>,
    /// Its labels; none before version 6.
    pub labels: Labels<'a>,
    pub(crate) threads: &'a Threads,
    pub(crate) pointer_size: PointerSize,
}

impl<'a> Event<'a> {
    /// Reads the payload field by field.
    #[must_use]
    pub fn reader(&self) -> PayloadReader<'a> {
        PayloadReader::new(self.payload, self.pointer_size)
    }

    /// The thread the event is about.
    #[must_use]
    pub fn thread(&self) -> ThreadId {
        self.threads.os_id(self.header.thread)
    }

    /// The thread that wrote the event.
    #[must_use]
    pub fn capture_thread(&self) -> ThreadId {
        self.threads.os_id(self.header.capture_thread)
    }

    /// What the stream says of the thread the event is about; nothing before version 6.
    #[must_use]
    pub fn thread_info(&self) -> Option<&'a ThreadInfo> {
        self.threads.info(self.header.thread)
    }

    /// The process of the thread the event is about; none before version 6, where the trace has one.
    #[must_use]
    pub fn process(&self) -> Option<ProcessId> {
        self.thread_info()?.process
    }

    /// The activity the event belongs to.
    #[must_use]
    pub fn activity(&self) -> Option<Guid> {
        let label = self.labels.find(|label| if let Label::Activity(id) = label { Some(*id) } else { None });
        label.or(Some(self.header.activity)).filter(|id| !id.is_nil())
    }

    /// The activity that caused the one the event belongs to.
    #[must_use]
    pub fn related_activity(&self) -> Option<Guid> {
        let label =
            self.labels.find(|label| if let Label::RelatedActivity(id) = label { Some(*id) } else { None });
        label.or(Some(self.header.related_activity)).filter(|id| !id.is_nil())
    }

    /// Its level: that of its kind, unless a label says otherwise.
    #[must_use]
    pub fn level(&self) -> Level {
        let label =
            self.labels.find(|label| if let Label::Level(level) = label { Some(*level) } else { None });
        label.unwrap_or(self.metadata.level)
    }

    /// Its opcode: that of its kind, unless a label says otherwise.
    #[must_use]
    pub fn opcode(&self) -> Opcode {
        let label =
            self.labels.find(|label| if let Label::Opcode(opcode) = label { Some(*opcode) } else { None });
        label.unwrap_or(self.metadata.opcode)
    }

    /// Its keywords: those of its kind, unless a label says otherwise.
    #[must_use]
    pub fn keywords(&self) -> Keywords {
        let label =
            self.labels.find(|label| if let Label::Keywords(bits) = label { Some(*bits) } else { None });
        label.unwrap_or(self.metadata.keywords)
    }

    /// Its version: that of its kind, unless a label says otherwise.
    #[must_use]
    pub fn version(&self) -> EventVersion {
        let label =
            self.labels.find(|label| if let Label::Version(number) = label { Some(*number) } else { None });
        label.unwrap_or(self.metadata.version)
    }
}
