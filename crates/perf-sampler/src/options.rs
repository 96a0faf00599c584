//! What to sample.

use std::collections::BTreeSet;
use std::ops::Range;

use model::ProcessId;

/// Whose threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// These processes.
    Processes(BTreeSet<ProcessId>),
    /// Every process. Needs rights over the whole machine.
    Machine,
}

impl Scope {
    /// One process.
    #[must_use]
    pub fn process(process: ProcessId) -> Scope {
        Scope::Processes(BTreeSet::from([process]))
    }
}

/// Which time of a thread is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collect {
    /// While it runs: a stack at a steady rate.
    OnCpu,
    /// While it does not: each wait, with the stack at its begin.
    OffCpu,
    /// Both.
    Both,
    /// When it comes to one of [`Options::places`].
    Places,
}

impl Collect {
    pub(crate) fn on_cpu(self) -> bool {
        matches!(self, Collect::OnCpu | Collect::Both)
    }

    pub(crate) fn off_cpu(self) -> bool {
        matches!(self, Collect::OffCpu | Collect::Both)
    }
}

/// What makes the kernel look at a thread that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Its time on a CPU, at the rate.
    Time,
    /// Memory that it touches for the first time.
    NewMemory {
        /// Of so many pages of a CPU or a thread, one.
        every: u32,
        /// Addresses that nobody asks about.
        but: Vec<Range<u64>>,
    },
}

/// Whether stacks go on into the kernel. Time spent there is sampled either way, where rights allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelFrames {
    /// With kernel frames.
    Wanted,
    /// User frames only.
    Unwanted,
}

/// Whether processes that a target starts are targets too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// They are.
    Followed,
    /// They are not.
    Ignored,
}

/// Where events are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// One event per CPU sees all processes; others' samples are not taken, or dropped when read. Costs the target next to
    /// nothing.
    PerCpu,
    /// An event in each thread for each CPU. Needs few rights, and costs at every context switch of the target.
    PerThread,
}

/// Which placement to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementWish {
    /// The best that rights allow.
    Best,
    /// In threads, whatever rights there are.
    PerThread,
}

/// How many waits carry a stack. Programs may switch threads 100,000 times a second, which nobody can copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStacks {
    /// Of so many switches of a thread, one. 1 for all.
    OneIn(u32),
    /// About so many, by how often the targets switch at the start. Looking at that takes a tenth of a second.
    AtMost {
        /// All threads together.
        per_second: u32,
    },
}

/// Everything that can be chosen.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose threads.
    pub scope: Scope,
    /// Which time.
    pub collect: Collect,
    /// What makes the kernel look at a thread that runs.
    pub trigger: Trigger,
    /// Samples per second and running thread. The kernel's limit lowers it.
    pub rate_hz: u32,
    /// Kernel frames or not.
    pub kernel_frames: KernelFrames,
    /// Bytes of user stack copied with each on-CPU sample; 0 for none. Repairs stacks where frame pointers break.
    pub stack_bytes: u32,
    /// The same for stacks of waits, which need more.
    pub wait_stack_bytes: u32,
    /// How many waits carry a stack. All are timed.
    pub wait_stacks: WaitStacks,
    /// Processes started by the targets.
    pub children: Children,
    /// Most memory for rings, all CPUs together, in bytes.
    pub ring_memory: usize,
    /// Where events are placed.
    pub placement: PlacementWish,
    /// Instructions of user code, each visit of which is told: four at most, as many as processors watch for.
    pub places: Vec<u64>,
}

impl Options {
    /// The usual: on-CPU at 99 Hz, kernel frames, stack copies that complete 99 % and more of the stacks of every program
    /// that was measured: half as much leaves out 2 to 10 % where the stack is deep (docs/kernel-profiles.md).
    #[must_use]
    pub fn new(scope: Scope) -> Options {
        Options {
            scope,
            collect: Collect::OnCpu,
            trigger: Trigger::Time,
            rate_hz: 99,
            kernel_frames: KernelFrames::Wanted,
            stack_bytes: 8 << 10,
            wait_stack_bytes: 16 << 10,
            wait_stacks: WaitStacks::AtMost { per_second: 2000 },
            children: Children::Ignored,
            ring_memory: 32 << 20,
            placement: PlacementWish::Best,
            places: Vec::new(),
        }
    }
}
