//! What a sampler tells.

use std::fmt;
use std::time::Duration;

use model::{ProcessId, ThreadId};

use crate::arch::Registers;

/// Nanoseconds of `CLOCK_MONOTONIC`: the clock of the runtime's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// This moment.
    #[must_use]
    pub fn now() -> Timestamp {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Timestamp(
            seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0)),
        )
    }

    /// Time from an earlier moment to this one; zero when it is later.
    #[must_use]
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// A thread and its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    /// The process.
    pub process: ProcessId,
    /// The thread.
    pub id: ThreadId,
}

/// Code addresses, innermost first, where they lie in the ring.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Addresses<'a> {
    bytes: &'a [u8],
}

impl<'a> Addresses<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Addresses<'a> {
        Addresses { bytes }
    }

    /// The addresses in turn.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u64> + Clone + use<'a> {
        self.bytes.chunks_exact(8).map(|chunk| chunk.try_into().map_or(0, u64::from_ne_bytes))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / 8
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Addresses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|address| format!("{address:#x}"))).finish()
    }
}

/// The stack of a thread at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackView<'a> {
    /// The instruction it was at, in the kernel or not.
    pub ip: u64,
    /// Frames in the kernel. Empty when it was not there, or they were not asked for or not allowed.
    pub kernel: Addresses<'a>,
    /// Frames in user code, as the kernel found them by frame pointers. Some leave out a caller, some end early.
    pub user: Addresses<'a>,
    /// User registers. `None` for kernel threads and 32-bit code.
    pub registers: Option<Registers>,
    /// Memory from the stack pointer upwards.
    pub memory: &'a [u8],
    /// Whether the kernel stopped at its limit of frames.
    pub cut: bool,
}

/// A thread was found running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Which one.
    pub thread: Thread,
    /// When.
    pub time: Timestamp,
    /// Where.
    pub cpu: u32,
    /// CPU time that the sample stands for; of a thread that came to a place, what the function returned that it came from.
    pub weight: Duration,
    /// What it did.
    pub stack: StackView<'a>,
}

/// Names one leaving of a CPU, so that the wait that began there can be told later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchId(pub u64);

/// Why a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// It waits for something.
    Blocked,
    /// It would run on, but another was given the CPU.
    Preempted,
    /// The kernel's word on it was lost, or it left before we looked.
    Unknown,
}

/// A thread left its CPU, and this is its stack. The [`Wait`] that begins here follows when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchOut<'a> {
    /// The name of it.
    pub id: SwitchId,
    /// Which thread.
    pub thread: Thread,
    /// When.
    pub time: Timestamp,
    /// From where.
    pub cpu: u32,
    /// Why.
    pub leaving: Leaving,
    /// What it did.
    pub stack: StackView<'a>,
}

/// How much of a wait was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Begin and end.
    Whole,
    /// It began before we looked: the time is from our start.
    BeganBefore,
    /// It went on when we stopped looking: the time is until then.
    NotEnded,
    /// From our start to our end.
    Throughout,
}

/// A thread was off the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Which one.
    pub thread: Thread,
    /// From when.
    pub from: Timestamp,
    /// Until when.
    pub to: Timestamp,
    /// Why it left.
    pub leaving: Leaving,
    /// Where it left, if that had a stack.
    pub switch: Option<SwitchId>,
    /// How much of it was seen.
    pub seen: Seen,
}

impl Wait {
    /// How long.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.to.since(self.from)
    }
}

/// A wait that goes on, as far as records were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenWait {
    /// Who waits. One that has not been seen to move since the start may also run.
    pub thread: Thread,
    /// Since when, at least.
    pub since: Timestamp,
    /// Whether a stack came with its begin.
    pub has_stack: bool,
}

/// Which file is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKey<'a> {
    /// By the build id in it.
    BuildId(&'a [u8]),
    /// By where it lies.
    Inode {
        /// Device.
        major: u32,
        /// Device.
        minor: u32,
        /// File; 0 for memory without one.
        inode: u64,
    },
}

/// A process mapped code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped<'a> {
    /// Who did.
    pub thread: Thread,
    /// When.
    pub time: Timestamp,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// The file.
    pub key: FileKey<'a>,
    /// `PROT_` bits.
    pub protection: u32,
    /// `MAP_` bits.
    pub flags: u32,
    /// Its path as the process sees it, or a name like `[vdso]` or `//anon`.
    pub path: &'a [u8],
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// A thread was found running.
    OnCpu(Sample<'a>),
    /// A thread left its CPU here.
    SwitchOut(SwitchOut<'a>),
    /// A thread was off the CPU.
    OffCpu(Wait),
    /// A process mapped code.
    Mapped(Mapped<'a>),
    /// A thread has a new name.
    Named {
        /// Which one.
        thread: Thread,
        /// When.
        time: Timestamp,
        /// The name.
        name: &'a [u8],
        /// Whether it got it by running another program: all mappings are new then.
        exec: bool,
    },
    /// A thread or a process began.
    Began {
        /// The new one.
        thread: Thread,
        /// The one that started it.
        parent: Thread,
        /// When.
        time: Timestamp,
    },
    /// A thread ended.
    Ended {
        /// Which one.
        thread: Thread,
        /// When.
        time: Timestamp,
    },
    /// The ring was full, and the kernel dropped records. In placement per CPU they may have been others'.
    Lost {
        /// How many.
        records: u64,
        /// When.
        time: Timestamp,
    },
    /// The kernel stopped sampling for a moment, because it took too long.
    Throttled {
        /// When.
        time: Timestamp,
    },
}
