//! One process of a recording, its stacks made fit to be read.
//!
//! A stack of the kernel's begins in the kernel and ends where the thread began, with the runtime's own frames before
//! the first of .NET. What lies outside of .NET code is cut off there, what .NET code called becomes one frame, and so
//! does a stack without .NET code. The whole stacks stay at hand.

use std::collections::{BTreeMap, HashMap};

use kernel_collector::RecordedProcess;
use model::{Frame, FrameKind, ThreadId};
use stacks::{FrameId, Profile, StackKey, StackNode};

use super::kinds::{Kind, has_name, kind_without_managed};
use crate::sampling::Calls;

/// The runtime's threads that serve diagnostics: they exist because of us.
const OURS: &str = ".NET EventPipe";

/// Time of a thread on one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spell {
    pub(super) thread: u64,
    /// In [`View::calls`].
    pub(super) stack: Option<StackKey>,
    /// In [`View::whole`].
    pub(super) whole: Option<StackKey>,
    pub(super) ns: u64,
}

/// One process.
pub(super) struct View<'a> {
    pub(super) process: &'a RecordedProcess,
    /// Stacks fit to be read.
    pub(super) calls: Calls,
    /// Stacks as they were taken.
    pub(super) whole: Calls,
    pub(super) running: Vec<Spell>,
    pub(super) waiting: Vec<Spell>,
    pub(super) ready: Vec<Spell>,
    /// Running time that was used for our sake, and is not in `running`.
    pub(super) ours_ns: u64,
    names: BTreeMap<u64, &'a str>,
}

impl<'a> View<'a> {
    pub(super) fn of(process: &'a RecordedProcess) -> View<'a> {
        let profiles = &process.profiles;
        let joined = Joined::of([&profiles.on_cpu, &profiles.off_cpu, &profiles.ready]);
        let whole = Calls::new(joined.frames.clone(), joined.nodes.clone());
        let view = View {
            process,
            calls: Calls::default(),
            whole,
            running: Vec::new(),
            waiting: Vec::new(),
            ready: Vec::new(),
            ours_ns: 0,
            names: names(process),
        };
        let mut cut = Cut::new(&joined);
        let [on_cpu, off_cpu, later] = joined.first;
        let (running, ours_ns) = view.spells(&profiles.on_cpu, on_cpu, &mut cut);
        let (waiting, _) = view.spells(&profiles.off_cpu, off_cpu, &mut cut);
        let (ready, _) = view.spells(&profiles.ready, later, &mut cut);
        let calls = Calls::new(cut.frames, cut.nodes);
        View { calls, running, waiting, ready, ours_ns, ..view }
    }

    /// The times of a profile by thread and stack, and how much of it was for our sake. `first` is where its stacks begin
    /// among those of all profiles.
    fn spells(&self, profile: &Profile, first: u32, cut: &mut Cut<'_>) -> (Vec<Spell>, u64) {
        let mut times: BTreeMap<(u64, Option<StackKey>), u64> = BTreeMap::new();
        for sample in &profile.samples {
            let thread = profile.threads.get(sample.thread.0 as usize).map_or(0, |thread| thread.id);
            let stack = sample.stack.map(|stack| StackKey(stack.0 + first));
            *times.entry((thread, stack)).or_default() += sample.weight;
        }
        let mut ours_ns = 0;
        let mut spells = Vec::with_capacity(times.len());
        for ((thread, whole), ns) in times {
            let name = self.thread_name(thread);
            if name == Some(OURS) || whole.is_some_and(|stack| self.whole.is_ours(stack)) {
                ours_ns += ns;
                continue;
            }
            let stack = whole.and_then(|stack| cut.stack(stack, name));
            spells.push(Spell { thread, stack, whole, ns });
        }
        (spells, ours_ns)
    }

    /// The name of a thread, if it is known.
    pub(super) fn thread_name(&self, thread: u64) -> Option<&'a str> {
        let looked = || {
            let id = ThreadId(u32::try_from(thread).ok()?);
            self.process.threads.get(&id).map(|clock| clock.name.as_str())
        };
        self.names.get(&thread).copied().or_else(looked).filter(|name| !name.is_empty())
    }

    /// The name of a thread for a table.
    pub(super) fn thread_words(&self, thread: u64) -> &'a str {
        self.thread_name(thread).unwrap_or("(name unknown)")
    }
}

/// Names of threads, as the profiles have them.
fn names(process: &RecordedProcess) -> BTreeMap<u64, &str> {
    let profiles = &process.profiles;
    [&profiles.on_cpu, &profiles.off_cpu, &profiles.ready]
        .into_iter()
        .flat_map(|profile| &profile.threads)
        .filter_map(|thread| Some((thread.id, thread.name.as_deref()?)))
        .collect()
}

/// The time of each stack that is fit to be read.
pub(super) fn by_stack<'s>(spells: impl IntoIterator<Item = &'s Spell>) -> HashMap<StackKey, u64> {
    let mut times = HashMap::new();
    for spell in spells {
        if let Some(stack) = spell.stack {
            *times.entry(stack).or_default() += spell.ns;
        }
    }
    times
}

/// The time of each stack as it was taken.
pub(super) fn by_whole<'s>(spells: impl IntoIterator<Item = &'s Spell>) -> HashMap<StackKey, u64> {
    let mut times = HashMap::new();
    for spell in spells {
        if let Some(stack) = spell.whole {
            *times.entry(stack).or_default() += spell.ns;
        }
    }
    times
}

/// The stacks of several profiles as if they were those of one.
struct Joined {
    frames: Vec<Frame>,
    nodes: Vec<StackNode>,
    /// Where the stacks of each profile begin.
    first: [u32; 3],
}

impl Joined {
    fn of(profiles: [&Profile; 3]) -> Joined {
        let mut joined = Joined { frames: Vec::new(), nodes: Vec::new(), first: [0; 3] };
        for (first, profile) in joined.first.iter_mut().zip(profiles) {
            // Profiles have far fewer frames and stacks than numbers of 32 bits count.
            let size = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
            *first = size(joined.nodes.len());
            let (first, frame) = (*first, size(joined.frames.len()));
            joined.frames.extend(profile.frames.iter().cloned());
            joined.nodes.extend(profile.nodes.iter().map(|node| StackNode {
                caller: node.caller.map(|caller| StackKey(caller.0 + first)),
                frame: FrameId(node.frame.0 + frame),
            }));
        }
        joined
    }

    fn stack(&self, stack: StackKey) -> impl Iterator<Item = FrameId> + '_ {
        let mut next = Some(stack);
        std::iter::from_fn(move || {
            let node = self.nodes.get(next?.0 as usize)?;
            next = node.caller;
            Some(node.frame)
        })
    }
}

/// Makes stacks shorter.
struct Cut<'a> {
    joined: &'a Joined,
    frames: Vec<Frame>,
    nodes: Vec<StackNode>,
    index: HashMap<(Option<StackKey>, FrameId), StackKey>,
    known: HashMap<StackKey, StackKey>,
    kinds: HashMap<Kind, FrameId>,
}

impl<'a> Cut<'a> {
    fn new(joined: &'a Joined) -> Cut<'a> {
        Cut {
            joined,
            frames: joined.frames.clone(),
            nodes: Vec::new(),
            index: HashMap::new(),
            known: HashMap::new(),
            kinds: HashMap::new(),
        }
    }

    fn stack(&mut self, stack: StackKey, thread: Option<&str>) -> Option<StackKey> {
        if let Some(known) = self.known.get(&stack) {
            return Some(*known);
        }
        let joined = self.joined;
        let frames: Vec<FrameId> = joined.stack(stack).collect();
        let frame = |id: &FrameId| joined.frames.get(id.0 as usize);
        let is_managed = |id: &FrameId| frame(id).is_some_and(|frame| frame.kind == FrameKind::Managed);
        let all: Vec<&Frame> = frames.iter().filter_map(frame).collect();
        let Some(outermost) = frames.iter().rposition(is_managed) else {
            // What it is depends on the thread, so it is not kept by stack.
            let kind = self.kind_frame(kind_without_managed(&all, thread))?;
            return self.intern(&[kind]);
        };
        let innermost = frames.iter().position(is_managed).unwrap_or(outermost);
        let mut short = Vec::with_capacity(outermost - innermost + 2);
        if innermost > 0 {
            // The function that was called, if it has a name; else what it is.
            let called = all[innermost - 1];
            short.push(if called.kind != FrameKind::Kernel && has_name(called) {
                frames[innermost - 1]
            } else {
                self.kind_frame(kind_without_managed(&all[..innermost], thread))?
            });
        }
        short.extend_from_slice(&frames[innermost..=outermost]);
        // A method that calls itself is one frame; so is one that the runtime replaced while it ran, which has two.
        short.dedup_by(|outer, inner| {
            match (self.frames.get(outer.0 as usize), self.frames.get(inner.0 as usize)) {
                (Some(outer), Some(inner)) => outer.name == inner.name && outer.module == inner.module,
                _ => false,
            }
        });
        let short = self.intern(&short)?;
        self.known.insert(stack, short);
        Some(short)
    }

    fn kind_frame(&mut self, kind: Kind) -> Option<FrameId> {
        if let Some(known) = self.kinds.get(&kind) {
            return Some(*known);
        }
        let id = FrameId(u32::try_from(self.frames.len()).ok()?);
        self.frames.push(kind.frame());
        self.kinds.insert(kind, id);
        Some(id)
    }

    /// Frames innermost first.
    fn intern(&mut self, frames: &[FrameId]) -> Option<StackKey> {
        let mut caller = None;
        for frame in frames.iter().rev() {
            let new = StackKey(u32::try_from(self.nodes.len()).ok()?);
            let key = *self.index.entry((caller, *frame)).or_insert(new);
            if key == new {
                self.nodes.push(StackNode { caller, frame: *frame });
            }
            caller = Some(key);
        }
        caller
    }
}
