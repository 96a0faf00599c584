//! What the agent in a target and its host say to each other.
//!
//! ```text
//!  host                                                           agent
//!   |-- AttachProfiler: class, library, Attach{token, socket, ...} -->|   through the runtime's diagnostics socket
//!   |<------------------------------- Hello{version, half a token} ---|   through the socket of Attach from here on
//!   |--- Welcome{the other half} ------------------------------------>|
//!   |--- Ask{Threads | Stacks} -------------------------------------->|
//!   |<------------------------------ Thread... | Stack..., Method... |
//!   |<------------------------------------------- Answered | Refused -|
//!   |--- Leave ------------------------------------------------------>|   or the socket breaks, or the deadline passes
//!   |<------------------------------------------------ Leaving, Detached, end of the stream
//! ```
//!
//! A frame is its length (4 bytes, little-endian, at most [`LONGEST_FRAME`]), its kind (1 byte) and its body. Each side
//! proves with its half of the token that it is who was meant. Both come from one build, since the host carries
//! the agent; the version in the first words is there for the day on which they do not.
//!
//! **In:** bytes, all hostile. **Out:** messages, or a [`Damage`]. No I/O, no panic, no memory beyond one frame.
#![forbid(unsafe_code)]

mod async_samples;
mod attach;
mod bytes;
mod graph;
mod heap;
mod inbox;
mod locks;
mod messages;

pub use async_samples::{Chain, ChainEnd, LONGEST_CHAIN, Pending};
pub use attach::{Attach, Fault, Token, class_id};
pub use bytes::Damage;
pub use graph::{
    Content, EVENT_HEAD_WORDS, EventReader, FRAME_WORDS, FREE, FULL, FrameReader, GraphAsk, GraphEnd,
    GraphWay, HEAD_BYTES, LOOKED, MOST_THREAD_FRAMES, OBJECT_HEAD_WORDS, ObjectReader, ObjectSink,
    ObjectWriter, RING_BYTES, SLOT_BYTES, SLOT_ROOM, SLOTS, STOP, SlotHead, THREAD_WORDS, ThreadFrames,
    ToldEvent, ToldFrame, ToldObject, event_head, slot_at, state_of,
};
pub use heap::{
    Field, Follow, HeapType, Layout, MOST_FIELDS, MOST_LAYOUTS, MOST_OBJECT_BYTES, MOST_PLANNED, Object,
    Pick, Plan, Sample,
};
pub use inbox::Inbox;
pub use locks::{
    Blocked, Class, LOCK_WORDS, LockLayout, MOST_BYTES, MOST_RANGES, Owner, Range, WaitKind, WaitList,
};
pub use messages::{
    Ask, Frame, FromAgent, FromHost, Hello, Message, Method, Pause, Reason, Stack, Stage, ThreadEntry,
};

/// Version of this protocol; goes up with every change.
pub const VERSION: u16 = 3;
/// Longest frame, without its length: room for the deepest stack.
pub const LONGEST_FRAME: usize = 64 * 1024;
/// Most frames of one stack that are sent; the rest is cut off at the outer end.
pub const DEEPEST_STACK: usize = 2048;
