//! Samples of async methods: the stacks of all threads, and who awaits the methods that they run.
//!
//! ```text
//!  a thread's stack, innermost first                          the heap
//!   Shop.Price.<Compute>d__2.MoveNext
//!   ExecutionContext.RunInternal
//!   AsyncStateMachineBox`1.MoveNext   this ----------------->  box of <Compute>d__2
//!   ThreadPoolWorkQueue.Dispatch                                 m_continuationObject -> box of <Quote>d__7 -> ... -> null
//! ```
//!
//! The object is looked for in the registers and the stack of the frame that resumed the method. Everything is read with the
//! kernel's help, so that a wrong guess is an error; the runtime is asked about a type only after its parents have been followed
//! to the root of all types (see `known.rs`).
//!
//! Kept during an answer: [`MOST_THREADS`] threads, [`MOST_FRAMES`] frames and [`MOST_LINKS`] links, about 2 MB; during a visit:
//! what `known.rs` states.

mod census;
mod known;

use std::ops::Range;
use std::time::Duration;

use agent_wire::{Chain, ChainEnd, DEEPEST_STACK, FromAgent, Method, Pause, Stack, ThreadEntry};
use clr_profiling::{ClassId, Frame, FunctionId, Info, Suspended, ThreadId, Walk};

pub(crate) use self::census::{Census, census};
pub(crate) use self::known::Memory;
use self::known::{Known, MethodToTell, TypeToTell};
use crate::answers::{self, Refusal};
use crate::line::Silence;
use crate::memory::word;
use crate::sys::read_memory;
use crate::visit::Visit;

/// Most threads of one sample.
const MOST_THREADS: usize = 4 * 1024;
/// Most frames of all stacks together.
const MOST_FRAMES: usize = 64 * 1024;
/// Most links of all chains together.
const MOST_LINKS: usize = 32 * 1024;
/// Most bytes of a frame that are searched.
const LARGEST_FRAME: usize = 2048;
/// Longest time in which stacks are walked; what is left is left out. A runtime with very many threads.
const LONGEST_LOOK: Duration = Duration::from_millis(20);

/// What was seen.
pub(crate) struct Sample {
    threads: Vec<Sampled>,
    frames: Vec<Frame>,
    links: Vec<u64>,
    methods: Vec<MethodToTell>,
    types: Vec<TypeToTell>,
    left_out: u32,
    pause: Pause,
}

struct Sampled {
    entry: ThreadEntry,
    frames: Range<usize>,
    cut: bool,
    chain: Option<(u32, Range<usize>, ChainEnd)>,
}

/// The frame that resumed an async method.
struct Resumed {
    index: usize,
    class: ClassId,
    from: usize,
    until: Option<usize>,
    registers: [usize; 6],
}

pub(crate) fn sample(visit: &Visit) -> Result<Sample, Refusal> {
    // Room is made before: while the runtime stands still, every microsecond counts.
    let mut sample = Sample {
        threads: Vec::with_capacity(MOST_THREADS),
        frames: Vec::with_capacity(MOST_FRAMES),
        links: Vec::with_capacity(MOST_LINKS),
        methods: Vec::new(),
        types: Vec::new(),
        left_out: 0,
        pause: Pause::default(),
    };
    let mut known = visit.async_methods.lock();
    known.make_room();
    let answer = answers::suspended(visit, |suspended, ids, _| {
        for (index, &id) in ids.iter().enumerate() {
            if index >= MOST_THREADS || suspended.elapsed() > LONGEST_LOOK {
                sample.left_out += u32::try_from(ids.len() - index).unwrap_or(u32::MAX);
                break;
            }
            sample.look(suspended, &mut known, id);
        }
        known.look_up(suspended, &visit.info);
    })?;
    (_, sample.pause) = answer.end();
    known.learn(&visit.info);
    (sample.methods, sample.types) = known.news();
    Ok(sample)
}

impl Sample {
    fn look(&mut self, suspended: &Suspended<'_>, known: &mut Known, id: ThreadId) {
        let start = self.frames.len();
        let (mut cut, mut resumed) = (false, None::<Resumed>);
        // A stack that cannot be walked is one without frames.
        let _ = suspended.walk_placed(id, |placed| {
            let index = self.frames.len() - start;
            if index >= DEEPEST_STACK || self.frames.len() >= MOST_FRAMES {
                cut = true;
                return Walk::Enough;
            }
            if let Some(resumed) = &mut resumed
                && resumed.until.is_none()
                && placed.stack_pointer > resumed.from
            {
                resumed.until = Some(placed.stack_pointer);
            }
            self.frames.push(placed.frame);
            if placed.frame.function != FunctionId(0) {
                known.see_method(placed.frame.function);
                if resumed.is_none()
                    && let Some(class) = known.resumes(suspended, placed)
                {
                    let (from, registers) = (placed.stack_pointer, placed.registers);
                    resumed = Some(Resumed { index, class, from, until: None, registers });
                }
            }
            Walk::On
        });
        if self.frames.len() == start {
            return;
        }
        let os = suspended.os_thread(id).map_or(0, |os| os.0);
        let entry = ThreadEntry { id: id.0 as u64, os };
        let chain = resumed.map(|resumed| {
            let first = self.links.len();
            let end = match find_object(suspended, known, &resumed) {
                Some(object) if self.links.len() + agent_wire::LONGEST_CHAIN <= MOST_LINKS => {
                    known.follow(suspended, object, &mut self.links)
                }
                Some(_) => ChainEnd::Cut,
                None => ChainEnd::Lost,
            };
            (u32::try_from(resumed.index).unwrap_or(u32::MAX), first..self.links.len(), end)
        });
        self.threads.push(Sampled { entry, frames: start..self.frames.len(), cut, chain });
    }

    /// Sends it, in parts.
    pub(crate) fn tell(
        &self,
        info: &Info,
        mut say: impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<(), Silence> {
        for thread in &self.threads {
            let frames = self.frames.get(thread.frames.clone()).unwrap_or_default();
            say(FromAgent::Stack(Stack {
                thread: thread.entry,
                code: 0,
                cut: thread.cut,
                frames: frames
                    .iter()
                    .map(|frame| (frame.function.0 as u64, frame.address.0 as u64))
                    .collect(),
            }))?;
            if let Some((resumed_by, links, end)) = &thread.chain {
                let links = self.links.get(links.clone()).unwrap_or_default().to_vec();
                let (thread, resumed_by, end) = (thread.entry.id, *resumed_by, *end);
                say(FromAgent::Chain(Chain { thread, resumed_by, links, end }))?;
            }
        }
        for method in &self.methods {
            let (class, name) = method.names(info);
            let (module, token) = (method.file.clone(), method.info.token.0);
            say(FromAgent::Method(Method { id: method.id.0 as u64, token, module, class, name }))?;
        }
        for told in &self.types {
            say(FromAgent::Class(told.class(info)))?;
        }
        say(FromAgent::Answered { left_out: self.left_out, pause: self.pause })
    }
}

/// The object whose method a frame runs: in its registers, or in its part of the stack.
fn find_object(suspended: &Suspended<'_>, known: &mut Known, resumed: &Resumed) -> Option<(u64, u64)> {
    if resumed.from == 0 {
        return None;
    }
    let mut room = [0; LARGEST_FRAME];
    let length = resumed.until.map_or(LARGEST_FRAME, |until| until - resumed.from).min(LARGEST_FRAME) & !7;
    let bytes = room.get_mut(..length)?;
    // Near the end of the stack less can be read than is asked for; then the registers must do.
    let bytes: &[u8] = if read_memory(resumed.from as u64, bytes) { bytes } else { &[] };
    let on_stack = bytes.chunks_exact(8).filter_map(|chunk| chunk.try_into().ok()).map(u64::from_le_bytes);
    let registers = resumed.registers.iter().map(|register| *register as u64);
    let could_be = |address: &u64| *address > 0xFFFF && address.trailing_zeros() >= 3;
    registers.chain(on_stack).filter(could_be).find_map(|address| {
        let class = word(address)? & !known::MARKS;
        known.is_box_of(suspended, class, resumed.class).then_some((address, class))
    })
}
