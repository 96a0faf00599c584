//! The messages. A new one is a variant, a kind, and its two arms.

use std::time::Duration;

use crate::async_samples::{Chain, Pending};
use crate::bytes::{Damage, Reader, Writer};
use crate::graph::{GraphAsk, GraphEnd};
use crate::heap::{self, HeapType, Layout, Object, Plan};
use crate::locks::{self, Blocked, Class, LockLayout, Owner, Range};
use crate::{DEEPEST_STACK, LONGEST_FRAME};

/// The kind and the body of a message.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a>(pub(crate) &'a [u8]);

/// What can be sent.
pub trait Message: Sized {
    /// As a frame with its length.
    fn encode(&self) -> Vec<u8>;
    /// From a frame.
    fn decode(frame: Frame<'_>) -> Result<Self, Damage>;
}

/// First words of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Its version of this protocol.
    pub version: u16,
    /// The agent's half of the token.
    pub proof: [u8; 16],
    /// The process id that it sees.
    pub process: u32,
    /// Version of the runtime, as the runtime's profiling interface says it (3.1 says 4.0).
    pub runtime: [u16; 4],
    /// Version of the runtime's profiling interface.
    pub interface: u16,
    /// How often this image was attached, this time included.
    pub attached: u32,
}

/// A managed thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadEntry {
    /// The runtime's id.
    pub id: u64,
    /// The operating system's number, in the target's pid namespace.
    pub os: u32,
}

/// The stack of a thread, innermost frame first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The thread.
    pub thread: ThreadEntry,
    /// Result code of the walk; 0 is good.
    pub code: i32,
    /// Whether outer frames are missing.
    pub cut: bool,
    /// Method (0 for native code) and address.
    pub frames: Vec<(u64, u64)>,
}

/// A method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// The runtime's id.
    pub id: u64,
    /// Its row in the metadata; 0 for code that is generated while the program runs.
    pub token: u32,
    /// File of its module.
    pub module: String,
    /// Its type, as the metadata names it; outer types first, separated by `+`. Empty in a module that can be unloaded.
    pub class: String,
    /// Its name. Empty in a module that can be unloaded.
    pub name: String,
}

/// How long the target stood still for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// From the wish to suspend until all threads had stopped; they stopped one by one meanwhile.
    pub suspending: Duration,
    /// How long they stood.
    pub suspended: Duration,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// All managed threads.
    Threads,
    /// The stacks of all managed threads at one instant, and what their methods are. Methods are never asked for by id:
    /// one that was unloaded meanwhile would crash the runtime.
    Stacks,
    /// All types that have objects.
    HeapTypes,
    /// The fields of types that were told before.
    Layouts(Vec<u64>),
    /// The objects of the [`Plan`].
    Objects,
    /// Parts of the target's memory, as they are.
    Read(Vec<Range>),
    /// All managed threads, and the application domain.
    Anchors,
    /// The stacks of all managed threads, and what they wait for, at one instant.
    Locks(LockLayout),
    /// What threads wait for, and which objects and static fields refer to those locks.
    Owners(LockLayout),
    /// The stacks of all managed threads, and who awaits the async methods that they run.
    AsyncSample,
    /// All async methods that are not finished, and who awaits them (9 and newer).
    AsyncCensus,
    /// The whole heap, through the memory that comes along.
    HeapGraph(GraphAsk),
}

/// What the host says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromHost {
    /// It is the right one: the host's half of the token.
    Welcome([u8; 16]),
    /// A question. One at a time.
    Ask(Ask),
    /// What the next question is about.
    Plan(Plan),
    /// Go.
    Leave,
}

/// Where an answer failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// Stopping the runtime.
    Suspend = 1,
    /// Listing the threads.
    Threads,
    /// Waiting for another user of this image, who has the runtime suspended.
    Turn,
    /// In our own code, which panicked.
    Panic,
    /// Walking the heap.
    Heap,
    /// Telling it: the host did not read.
    Stalled,
    /// Telling it: it took longer than allowed.
    TooLong,
    /// Telling it: the host wanted no more.
    Stopped,
    /// The memory to tell it through was not there, or could not be used.
    Memory,
}

/// Why the agent leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// It was told to.
    Told = 1,
    /// Its time is over.
    Deadline,
    /// The host said something senseless.
    Nonsense,
    /// Its own code failed.
    Panic,
    /// The process ends.
    Shutdown,
    /// The host is gone.
    Lost,
}

/// What the agent says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromAgent {
    /// First words.
    Hello(Hello),
    /// Part of an answer.
    Thread(ThreadEntry),
    /// Part of an answer.
    Stack(Stack),
    /// Part of an answer.
    Method(Method),
    /// Part of an answer.
    HeapType(HeapType),
    /// Part of an answer.
    Layout(Layout),
    /// Part of an answer.
    Objects(Vec<Object>),
    /// Part of an answer: the parts of memory that were asked for, in their order; none where nothing can be read.
    Memory(Vec<Option<Vec<u8>>>),
    /// Part of an answer: the application domain.
    Domain(u64),
    /// Part of an answer.
    Blocked(Blocked),
    /// Part of an answer.
    Class(Class),
    /// Part of an answer.
    Owner(Owner),
    /// Part of an answer.
    Chain(Chain),
    /// Part of an answer.
    Pending(Pending),
    /// Part of an answer: what went through the shared memory.
    GraphEnd(GraphEnd),
    /// End of an answer; `left_out` things did not fit.
    Answered {
        /// What did not fit.
        left_out: u32,
        /// How long the target stood still.
        pause: Pause,
    },
    /// No answer.
    Refused {
        /// Where it failed.
        stage: Stage,
        /// The runtime's result code.
        code: i32,
    },
    /// It asks the runtime to be let go.
    Leaving(Reason),
    /// The runtime has let it go.
    Detached,
}

fn frame(kind: u8, body: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.u32(0).u8(kind);
    body(&mut writer);
    let length = writer.bytes.len() - 4;
    debug_assert!(length <= LONGEST_FRAME);
    if let (Some(head), Ok(length)) = (writer.bytes.first_chunk_mut(), u32::try_from(length)) {
        *head = length.to_le_bytes();
    }
    writer.bytes
}

impl Message for FromHost {
    fn encode(&self) -> Vec<u8> {
        match self {
            FromHost::Welcome(proof) => frame(1, |body| {
                body.raw(proof);
            }),
            FromHost::Ask(Ask::Threads) => frame(2, |_| ()),
            FromHost::Ask(Ask::Stacks) => frame(3, |_| ()),
            FromHost::Leave => frame(4, |_| ()),
            FromHost::Ask(Ask::HeapTypes) => frame(20, |_| ()),
            FromHost::Ask(Ask::Layouts(types)) => {
                frame(21, |body| heap::write_ids(body, types, heap::MOST_LAYOUTS))
            }
            FromHost::Ask(Ask::Objects) => frame(22, |_| ()),
            FromHost::Plan(plan) => frame(23, |body| plan.write(body)),
            FromHost::Ask(Ask::Read(ranges)) => frame(10, |body| locks::write_ranges(ranges, body)),
            FromHost::Ask(Ask::Anchors) => frame(11, |_| ()),
            FromHost::Ask(Ask::Locks(layout)) => frame(12, |body| layout.write(body)),
            FromHost::Ask(Ask::Owners(layout)) => frame(13, |body| layout.write(body)),
            FromHost::Ask(Ask::AsyncSample) => frame(30, |_| ()),
            FromHost::Ask(Ask::AsyncCensus) => frame(31, |_| ()),
            FromHost::Ask(Ask::HeapGraph(ask)) => frame(40, |body| ask.write(body)),
        }
    }

    fn decode(Frame(bytes): Frame<'_>) -> Result<Self, Damage> {
        let mut reader = Reader::new(bytes);
        let message = match reader.u8("kind")? {
            1 => FromHost::Welcome(reader.array("proof")?),
            2 => FromHost::Ask(Ask::Threads),
            3 => FromHost::Ask(Ask::Stacks),
            4 => FromHost::Leave,
            20 => FromHost::Ask(Ask::HeapTypes),
            21 => FromHost::Ask(Ask::Layouts(heap::read_layouts(&mut reader)?)),
            22 => FromHost::Ask(Ask::Objects),
            23 => FromHost::Plan(Plan::read(&mut reader)?),
            10 => FromHost::Ask(Ask::Read(locks::read_ranges(&mut reader)?)),
            11 => FromHost::Ask(Ask::Anchors),
            12 => FromHost::Ask(Ask::Locks(LockLayout::read(&mut reader)?)),
            13 => FromHost::Ask(Ask::Owners(LockLayout::read(&mut reader)?)),
            30 => FromHost::Ask(Ask::AsyncSample),
            31 => FromHost::Ask(Ask::AsyncCensus),
            40 => FromHost::Ask(Ask::HeapGraph(GraphAsk::read(&mut reader)?)),
            _ => return Err(reader.damage("kind")),
        };
        reader.end()?;
        Ok(message)
    }
}

impl Message for FromAgent {
    fn encode(&self) -> Vec<u8> {
        match self {
            FromAgent::Hello(hello) => frame(1, |body| {
                body.u16(hello.version).raw(&hello.proof).u32(hello.process);
                for part in hello.runtime {
                    body.u16(part);
                }
                body.u16(hello.interface).u32(hello.attached);
            }),
            FromAgent::Thread(thread) => frame(2, |body| {
                body.u64(thread.id).u32(thread.os);
            }),
            FromAgent::Stack(stack) => frame(3, |body| {
                let frames = stack.frames.get(..DEEPEST_STACK).unwrap_or(&stack.frames);
                let cut = stack.cut || frames.len() < stack.frames.len();
                body.u64(stack.thread.id).u32(stack.thread.os).u32(stack.code.cast_unsigned());
                body.u8(cut.into()).u32(u32::try_from(frames.len()).unwrap_or(0));
                for (method, address) in frames {
                    body.u64(*method).u64(*address);
                }
            }),
            FromAgent::Method(method) => frame(4, |body| {
                body.u64(method.id).u32(method.token);
                body.text(&method.module).text(&method.class).text(&method.name);
            }),
            FromAgent::Answered { left_out, pause } => frame(5, |body| {
                body.u32(*left_out).u64(nanos(pause.suspending)).u64(nanos(pause.suspended));
            }),
            FromAgent::Refused { stage, code } => frame(6, |body| {
                body.u8(*stage as u8).u32(code.cast_unsigned());
            }),
            FromAgent::Leaving(reason) => frame(7, |body| {
                body.u8(*reason as u8);
            }),
            FromAgent::Detached => frame(8, |_| ()),
            FromAgent::HeapType(told) => frame(40, |body| told.write(body)),
            FromAgent::Layout(told) => frame(41, |body| told.write(body)),
            FromAgent::Objects(objects) => frame(42, |body| {
                body.u32(u32::try_from(objects.len()).unwrap_or(0));
                objects.iter().for_each(|object| object.write(body));
            }),
            FromAgent::Memory(parts) => frame(30, |body| locks::write_memory(parts, body)),
            FromAgent::Domain(id) => frame(31, |body| {
                body.u64(*id);
            }),
            FromAgent::Blocked(blocked) => frame(32, |body| blocked.write(body)),
            FromAgent::Class(class) => frame(33, |body| class.write(body)),
            FromAgent::Owner(owner) => frame(34, |body| owner.write(body)),
            FromAgent::Chain(chain) => frame(50, |body| chain.write(body)),
            FromAgent::Pending(pending) => frame(51, |body| pending.write(body)),
            FromAgent::GraphEnd(end) => frame(60, |body| end.write(body)),
        }
    }

    fn decode(Frame(bytes): Frame<'_>) -> Result<Self, Damage> {
        let mut reader = Reader::new(bytes);
        let message = match reader.u8("kind")? {
            1 => FromAgent::Hello(hello(&mut reader)?),
            2 => FromAgent::Thread(thread(&mut reader)?),
            3 => FromAgent::Stack(stack(&mut reader)?),
            4 => FromAgent::Method(Method {
                id: reader.u64("method")?,
                token: reader.u32("token")?,
                module: reader.text("module")?,
                class: reader.text("type")?,
                name: reader.text("name")?,
            }),
            5 => FromAgent::Answered {
                left_out: reader.u32("left out")?,
                pause: Pause {
                    suspending: Duration::from_nanos(reader.u64("pause")?),
                    suspended: Duration::from_nanos(reader.u64("pause")?),
                },
            },
            6 => FromAgent::Refused {
                stage: stage(reader.u8("stage")?).ok_or(reader.damage("stage"))?,
                code: reader.u32("code")?.cast_signed(),
            },
            7 => FromAgent::Leaving(reason(reader.u8("reason")?).ok_or(reader.damage("reason"))?),
            8 => FromAgent::Detached,
            40 => FromAgent::HeapType(HeapType::read(&mut reader)?),
            41 => FromAgent::Layout(Layout::read(&mut reader)?),
            42 => {
                let count = reader.count(18, "number of objects")?;
                FromAgent::Objects((0..count).map(|_| Object::read(&mut reader)).collect::<Result<_, _>>()?)
            }
            30 => FromAgent::Memory(locks::read_memory(&mut reader)?),
            31 => FromAgent::Domain(reader.u64("application domain")?),
            32 => FromAgent::Blocked(Blocked::read(&mut reader)?),
            33 => FromAgent::Class(Class::read(&mut reader)?),
            34 => FromAgent::Owner(Owner::read(&mut reader)?),
            50 => FromAgent::Chain(Chain::read(&mut reader)?),
            51 => FromAgent::Pending(Pending::read(&mut reader)?),
            60 => FromAgent::GraphEnd(GraphEnd::read(&mut reader)?),
            _ => return Err(reader.damage("kind")),
        };
        reader.end()?;
        Ok(message)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn hello(reader: &mut Reader<'_>) -> Result<Hello, Damage> {
    Ok(Hello {
        version: reader.u16("version")?,
        proof: reader.array("proof")?,
        process: reader.u32("process")?,
        runtime: [
            reader.u16("runtime")?,
            reader.u16("runtime")?,
            reader.u16("runtime")?,
            reader.u16("runtime")?,
        ],
        interface: reader.u16("interface")?,
        attached: reader.u32("attached")?,
    })
}

fn thread(reader: &mut Reader<'_>) -> Result<ThreadEntry, Damage> {
    Ok(ThreadEntry { id: reader.u64("thread")?, os: reader.u32("thread")? })
}

fn stack(reader: &mut Reader<'_>) -> Result<Stack, Damage> {
    let thread = thread(reader)?;
    let code = reader.u32("code")?.cast_signed();
    let cut = reader.flag("whether it is cut")?;
    let count = reader.count(16, "number of frames")?;
    if count > DEEPEST_STACK {
        return Err(reader.damage("number of frames"));
    }
    let frame = |reader: &mut Reader<'_>| Ok((reader.u64("frame")?, reader.u64("frame")?));
    let frames = (0..count).map(|_| frame(reader)).collect::<Result<_, Damage>>()?;
    Ok(Stack { thread, code, cut, frames })
}

fn stage(code: u8) -> Option<Stage> {
    use Stage::{Heap, Memory, Panic, Stalled, Stopped, Suspend, Threads, TooLong, Turn};
    [Suspend, Threads, Turn, Panic, Heap, Stalled, TooLong, Stopped, Memory]
        .into_iter()
        .find(|&stage| stage as u8 == code)
}

fn reason(code: u8) -> Option<Reason> {
    use Reason::{Deadline, Lost, Nonsense, Panic, Shutdown, Told};
    [Told, Deadline, Nonsense, Panic, Shutdown, Lost].into_iter().find(|&reason| reason as u8 == code)
}
