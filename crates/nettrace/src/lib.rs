//! A streaming reader of `.nettrace`, the format in which .NET runtimes write their events.
//!
//! **In:** any [`Read`](std::io::Read): a file, or the socket of a running session. Versions 4 and 5, which every
//! runtime writes, and 6. **Out:** [`Item`]s in the order of the stream: what the trace is, kinds of events,
//! events with their stacks, sequence points; at the end [`Losses`], which says what the trace does not have.
//!
//! ```text
//!             +-- one buffer --+     +- tables ----------------------------+
//!  Read ----->| block | block |----> | metadata  stacks  labels  threads   |
//!             +----------------+     +-------------------------------------+
//!                  |                          |
//!                  +--> header, payload ------+--> Item::Event, borrowed from both
//! ```
//!
//! An event is not copied: its payload lies in the buffer, its stack in the table, until the next call. Memory is
//! bounded by [`limits`] whatever the stream says. A stream that is cut off or damaged gives every event before the
//! damage, then one [`Error`] with the offset and the field. No bytes make it panic.
//!
//! **Not here:** events are not sorted by time (they are ordered within a thread, and sequence points and
//! [`Order::Sorted`] tell up to where a consumer may sort); payloads are not understood ([`PayloadReader`] takes
//! them apart, [`EventMetadata::layout`] says how); addresses get no names. What is
//! written are copies and parts of what was read ([`copying`]).
//!
//! ```no_run
//! use nettrace::{Item, Reader};
//!
//! let mut reader = Reader::new(std::fs::File::open("app.nettrace")?);
//! let mut exceptions = 0;
//! while let Some(item) = reader.next()? {
//!     if let Item::Event(event) = item
//!         && event.metadata.provider == "Microsoft-Windows-DotNETRuntime"
//!         && event.metadata.event == nettrace::EventId(80)
//!     {
//!         println!("{} on thread {}", event.reader().utf16()?, event.thread());
//!         exceptions += 1;
//!     }
//! }
//! println!("{exceptions} exceptions, {} events lost", reader.losses().events);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod block;
pub mod copying;
mod cursor;
mod error;
mod event;
mod field;
mod framing;
mod ids;
mod label;
pub mod limits;
mod losses;
mod metadata;
mod payload;
mod reader;
mod sequence_point;
mod source;
mod span_table;
mod stack;
mod thread;
mod trace_info;

pub use error::Error;
pub use event::{Event, EventHeader, Order};
pub use field::{Field, FieldType};
pub use framing::BlockKind;
pub use ids::{
    CodeAddress, EventId, EventVersion, Guid, Keywords, LabelListId, Level, MetadataId, Opcode, ProcessId,
    ProcessorNumber, SequenceNumber, StackId, ThreadId, ThreadIndex, Timestamp,
};
pub use label::{Label, Labels};
pub use losses::Losses;
pub use metadata::{EventMetadata, Layout};
pub use payload::{PayloadReader, Utf16};
pub use reader::{Item, Reader};
pub use sequence_point::SequencePoint;
pub use stack::{Stack, Stacks};
pub use thread::ThreadInfo;
pub use trace_info::{FormatVersion, PointerSize, TickFrequency, TraceInfo};
