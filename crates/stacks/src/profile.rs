//! Samples with weights on named stacks.

use model::Frame;

use crate::StackKey;

/// A row of [`Profile::frames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub u32);

/// A row of [`Profile::threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadSlot(pub u32);

/// What the weight of a sample counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Time, in nanoseconds, that lasts from the sample's moment on.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Occurrences.
    Count,
}

/// A frame under its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackNode {
    /// Who called it; none for the outermost frame. A caller stands before its callees.
    pub caller: Option<StackKey>,
    /// What it is.
    pub frame: FrameId,
}

/// A thread that has samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileThread {
    /// The operating system's number.
    pub id: u64,
    /// Its name, when known.
    pub name: Option<String>,
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Nanoseconds from the start of the trace.
    pub at_ns: u64,
    /// How much, in the profile's [`Weight`].
    pub weight: u64,
    /// On which thread.
    pub thread: ThreadSlot,
    /// Where; none if the stack is not known.
    pub stack: Option<StackKey>,
}

/// Weighed samples on named stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What it shows, in a few words: `thread time`, `allocations`.
    pub title: String,
    /// What weights count.
    pub weight: Weight,
    /// When the trace began, when known.
    pub started: Option<std::time::SystemTime>,
    /// How long the trace is, in nanoseconds.
    pub duration_ns: u64,
    /// The process, when known.
    pub process: Option<u64>,
    /// The frames.
    pub frames: Vec<Frame>,
    /// The stacks; a [`StackKey`] is a row of it.
    pub nodes: Vec<StackNode>,
    /// The threads.
    pub threads: Vec<ProfileThread>,
    /// The samples: in order of time within a thread.
    pub samples: Vec<Sample>,
}

impl Profile {
    /// The frames of a stack, innermost first.
    pub fn stack(&self, stack: StackKey) -> impl Iterator<Item = FrameId> + '_ {
        let mut next = Some(stack);
        std::iter::from_fn(move || {
            let node = self.nodes.get(next?.0 as usize)?;
            next = node.caller;
            Some(node.frame)
        })
    }

    /// The same, with what is known of each frame.
    pub fn frames_of(&self, stack: StackKey) -> impl Iterator<Item = &Frame> + '_ {
        self.stack(stack).filter_map(|frame| self.frames.get(frame.0 as usize))
    }

    /// All weights together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.samples.iter().map(|sample| sample.weight).sum()
    }
}
