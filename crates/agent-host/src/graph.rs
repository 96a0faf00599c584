//! The whole heap, through memory that the agent shares with us.
//!
//! ```text
//!  agent: frames | objects, references | ...        look (another thread): reads the target's memory from outside
//!            \                                        ^ the frames              | done
//!             slots --> copied at once --> queue --> ObjectSink                 v
//!                        (first)           (when no slot waits)       the agent lets the target go on
//! ```
//! The target stands still while its heap is told, so slots are emptied before anything else is done. The memory is only
//! copied from, never mapped: what the other side does to it meanwhile cannot matter.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{Ordering, fence};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use agent_wire::{
    Ask, Content, Damage, FREE, FULL, FrameReader, FromAgent, FromHost, GraphAsk, GraphEnd, GraphWay,
    HEAD_BYTES, HeapType, LOOKED, Message, ObjectReader, ObjectSink, Pause, RING_BYTES, SLOT_BYTES, STOP,
    SlotHead, ThreadFrames, slot_at, state_of,
};
use diagnostics_ipc::HResult;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::AgentError;
use crate::attached::{ANSWER, Attached, MOST_FRAMES};

/// How long we wait for a word of the agent before we look for a slot again.
const WAIT: Duration = Duration::from_micros(50);
/// How often the sink is asked whether to go on.
const ASK_SINK: Duration = Duration::from_millis(50);
/// Bytes that may wait to be read, besides a part of those that were: after that the agent has to wait. On a machine with a
/// processor to spare they are read as fast as they come.
const QUEUED: u64 = 8 << 20;
const QUEUED_PART: u64 = 8;
/// Most parts of an answer after the objects: more than the types that an honest agent tells.
const MOST_PARTS: usize = 256 * 1024;

/// What is asked of the agent.
#[derive(Clone, Copy, Debug)]
pub struct GraphOrder {
    /// How the heap is told.
    pub way: GraphWay,
    /// How long the target may stand still; after that the agent gives up.
    pub longest: Duration,
    /// How long the target is held, when all is told, until the look from outside is over; zero for no such look.
    pub look: Duration,
    /// More bytes than this cannot be the heap of this process.
    pub most_bytes: u64,
}

/// Takes what is told of the heap.
pub trait GraphSink: ObjectSink {
    /// Asked now and then, with the bytes that came: whether to go on.
    fn goes_on(&mut self, bytes: u64) -> bool;
    /// Events of the runtime, if these are told: the bytes of a slot. False if they make no sense.
    fn events(&mut self, bytes: &[u8]) -> bool {
        let _ = bytes;
        false
    }
}

/// What came besides the objects.
#[derive(Debug)]
pub struct HeapTold<R> {
    /// What the agent says it told; compared with what came.
    pub end: GraphEnd,
    /// How long the target stood still.
    pub pause: Pause,
    /// Bytes that came through the shared memory.
    pub bytes: u64,
    /// All managed threads.
    pub threads: Vec<ThreadFrames>,
    /// What the types are.
    pub types: Vec<HeapType>,
    /// What the look from outside gave; only good if `end.looked`.
    pub looked: Option<R>,
    /// How many threads or types did not fit.
    pub left_out: u32,
}

/// The memory.
struct Shared(File);

impl Shared {
    fn new() -> Result<Shared, AgentError> {
        let failed = |error: rustix::io::Errno| AgentError::System {
            what: "making memory to share with the agent",
            source: error.into(),
        };
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let memory: OwnedFd = memfd_create("drdotnet-heap", flags).map_err(failed)?;
        // Taken now, by us: the target's own limit is not charged with it.
        fallocate(&memory, FallocateFlags::empty(), 0, RING_BYTES as u64).map_err(failed)?;
        fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).map_err(failed)?;
        Ok(Shared(memory.into()))
    }

    fn failed(source: io::Error) -> AgentError {
        AgentError::System { what: "reading memory that is shared with the agent", source }
    }

    fn set(&self, offset: usize, value: u8) -> Result<(), AgentError> {
        // What was read before must have been read when the other side sees this.
        fence(Ordering::SeqCst);
        self.0.write_all_at(&[value], offset as u64).map_err(Shared::failed)
    }

    /// Copies a slot, if it is full, and makes it free.
    fn take(&self, number: u64, into: &mut Vec<u8>) -> Result<Option<SlotHead>, AgentError> {
        let slot = usize::try_from(number % agent_wire::SLOTS as u64).unwrap_or(0);
        let mut state = [FREE];
        self.0.read_exact_at(&mut state, state_of(slot) as u64).map_err(Shared::failed)?;
        if state != [FULL] {
            return Ok(None);
        }
        fence(Ordering::Acquire);
        into.resize(SLOT_BYTES, 0);
        self.0.read_exact_at(into, slot_at(slot) as u64).map_err(Shared::failed)?;
        self.set(state_of(slot), FREE)?;
        let no_head = Damage { problem: "head of a slot", offset: 0 };
        let head: &[u8; HEAD_BYTES] = into.first_chunk().ok_or(AgentError::Damaged(no_head))?;
        let head = SlotHead::decode(head, number).map_err(AgentError::Damaged)?;
        into.truncate(HEAD_BYTES + usize::try_from(head.length).unwrap_or(0));
        Ok(Some(head))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Whoever still tells need not.
        let _ = self.set(STOP, 1);
    }
}

/// What came so far.
struct Draining<'s, S> {
    sink: &'s mut S,
    objects: ObjectReader,
    frames: FrameReader,
    has_frames: bool,
    queue: VecDeque<(Content, Vec<u8>)>,
    queued: u64,
    /// Buffers that were read.
    spare: Vec<Vec<u8>>,
    /// Slots that came.
    slots: u64,
    bytes: u64,
    most_bytes: u64,
    /// The sink wants no more.
    is_over: bool,
}

impl<S: GraphSink> Draining<'_, S> {
    /// Takes the next slot, if there is one.
    fn take(&mut self, shared: &Shared) -> Result<bool, AgentError> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        let Some(head) = shared.take(self.slots, &mut buffer)? else {
            self.spare.push(buffer);
            return Ok(false);
        };
        self.slots += 1;
        self.bytes += buffer.len() as u64;
        if self.bytes > self.most_bytes {
            return Err(damaged("more than the process can hold"));
        }
        let content = buffer.get(HEAD_BYTES..).unwrap_or_default();
        match head.content {
            Content::Frames if !self.has_frames => {
                self.frames.read(content, MOST_FRAMES).map_err(AgentError::Damaged)?;
                self.spare.push(buffer);
            }
            Content::FramesEnd if !self.has_frames && self.frames.is_whole() => {
                self.has_frames = true;
                self.spare.push(buffer);
            }
            Content::Objects | Content::Events => {
                self.queued += buffer.len() as u64;
                self.queue.push_back((head.content, buffer));
            }
            _ => return Err(damaged("a slot that does not belong there")),
        }
        Ok(true)
    }

    /// Whether more may wait to be read.
    fn has_room(&self) -> bool {
        self.queued < QUEUED + (self.bytes - self.queued) / QUEUED_PART
    }

    /// Reads the slot that has waited longest; false if there is none.
    fn read(&mut self) -> Result<bool, AgentError> {
        let Some((kind, buffer)) = self.queue.pop_front() else { return Ok(false) };
        self.queued -= buffer.len() as u64;
        let content = buffer.get(HEAD_BYTES..).unwrap_or_default();
        if !self.is_over {
            match kind {
                Content::Objects => {
                    let on = self.objects.read(content, self.sink).map_err(AgentError::Damaged)?;
                    self.is_over = !on;
                }
                _ if self.sink.events(content) => {}
                _ => return Err(damaged("events")),
            }
        }
        self.spare.push(buffer);
        Ok(true)
    }
}

fn damaged(problem: &'static str) -> AgentError {
    AgentError::Damaged(Damage { problem, offset: 0 })
}

impl Attached {
    /// The whole heap: every object and reference goes to `sink`. `look` is called on a thread of its own as soon as the
    /// target stands still, with the frames of all threads, if the order leaves time for it.
    ///
    /// An error is never a part of a heap that could be used.
    pub fn heap_graph<S: GraphSink, R: Send>(
        &mut self,
        order: &GraphOrder,
        sink: &mut S,
        look: impl FnOnce(&[ThreadFrames]) -> R + Send,
    ) -> Result<HeapTold<R>, AgentError> {
        let shared = Shared::new()?;
        let millis = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        let ask = GraphAsk { way: order.way, longest_ms: millis(order.longest), look_ms: millis(order.look) };
        self.send_with(&FromHost::Ask(Ask::HeapGraph(ask)), &shared.0)?;
        let mut draining = Draining {
            sink,
            objects: ObjectReader::default(),
            frames: FrameReader::default(),
            has_frames: false,
            queue: VecDeque::new(),
            queued: 0,
            spare: Vec::new(),
            slots: 0,
            bytes: 0,
            most_bytes: order.most_bytes,
            is_over: false,
        };
        let (end, threads, looked) = std::thread::scope(|scope| {
            let mut looking: Option<ScopedJoinHandle<'_, (Vec<ThreadFrames>, R)>> = None;
            let mut look = Some(look);
            let shared = &shared;
            let end = self.drain(shared, &mut draining, |frames| {
                if let Some(look) = look.take() {
                    looking = Some(scope.spawn(move || {
                        let found = look(&frames);
                        let _ = shared.set(LOOKED, 1);
                        (frames, found)
                    }));
                }
            });
            if end.is_err() {
                let _ = shared.set(STOP, 1);
            }
            let (threads, looked) = match looking.map(ScopedJoinHandle::join) {
                Some(Ok((threads, found))) => (threads, Some(found)),
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                None => (Vec::new(), None),
            };
            end.map(|end| (end, threads, looked))
        })?;
        // The target runs again. What waits to be read is read now.
        while draining.read()? {}
        let (objects, bytes, is_over) = (draining.objects, draining.bytes, draining.is_over);
        if is_over {
            return Err(AgentError::Refused { stage: agent_wire::Stage::Stopped, code: HResult(0) });
        }
        if order.way == GraphWay::Walk
            && (!objects.is_whole() || (objects.objects, objects.references) != (end.objects, end.references))
        {
            return Err(damaged("fewer objects or references than there were, or more"));
        }
        let mut types = Vec::new();
        let (left_out, pause) = self.hear_answer(Instant::now() + ANSWER, MOST_PARTS, |part| {
            let FromAgent::HeapType(told) = part else { return false };
            types.push(told);
            true
        })?;
        Ok(HeapTold { end, pause, bytes, threads, types, looked, left_out })
    }

    /// Empties slots until the agent says that all is told.
    fn drain<S: GraphSink>(
        &mut self,
        shared: &Shared,
        draining: &mut Draining<'_, S>,
        mut start_look: impl FnMut(Vec<ThreadFrames>),
    ) -> Result<GraphEnd, AgentError> {
        let mut end: Option<GraphEnd> = None;
        let mut looks = false;
        let (mut moved, mut asked) = (Instant::now(), Instant::now());
        loop {
            if draining.has_room() && draining.take(shared)? {
                if draining.has_frames && !std::mem::replace(&mut looks, true) {
                    start_look(std::mem::take(&mut draining.frames.threads));
                }
                moved = Instant::now();
            } else if let Some(end) = end {
                return match draining.slots == end.slots {
                    true => Ok(end),
                    false if draining.read()? => continue,
                    false => Err(damaged("fewer slots than were filled")),
                };
            } else if draining.read()? {
                moved = Instant::now();
            } else if let Some(message) = self.heard_within(WAIT)? {
                moved = Instant::now();
                match message {
                    FromAgent::GraphEnd(told) => end = Some(told),
                    FromAgent::Leaving(reason) => return Err(AgentError::Left { reason }),
                    FromAgent::Refused { stage, code } => {
                        return Err(AgentError::Refused { stage, code: HResult(code) });
                    }
                    _ => return Err(damaged("a part that belongs to no answer")),
                }
            } else if moved.elapsed() > ANSWER {
                return Err(AgentError::Lost { source: io::ErrorKind::TimedOut.into() });
            }
            if asked.elapsed() > ASK_SINK {
                asked = Instant::now();
                if draining.is_over || !draining.sink.goes_on(draining.bytes) {
                    draining.is_over = true;
                    shared.set(STOP, 1)?;
                }
            }
        }
    }

    /// The agent's next message, if it comes within so short a time.
    fn heard_within(&mut self, time: Duration) -> Result<Option<FromAgent>, AgentError> {
        if let Some(message) = self.inbox.message().map_err(AgentError::Damaged)? {
            return Ok(Some(message));
        }
        let time = Timespec::try_from(time).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
        match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], Some(&time)) {
            Ok(0) | Err(_) => Ok(None),
            Ok(_) => self.hear(Instant::now() + ANSWER).map(Some),
        }
    }

    /// Says something, and sends a descriptor along.
    fn send_with(&mut self, message: &FromHost, enclosed: &File) -> Result<(), AgentError> {
        let bytes = message.encode();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors = [enclosed.as_fd()];
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let sent = sendmsg(&self.stream, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL);
        match sent {
            Ok(sent) if sent == bytes.len() => Ok(()),
            Ok(_) => Err(AgentError::Lost { source: io::ErrorKind::WriteZero.into() }),
            Err(error) => Err(AgentError::Lost { source: error.into() }),
        }
    }
}
