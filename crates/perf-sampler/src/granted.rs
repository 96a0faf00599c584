//! What was granted, what is missing from the picture, why, and what would add it.

use std::fmt;
use std::time::Duration;

use model::ProcessId;

use crate::options::Placement;

/// What a sampler can show with the rights it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// How running threads are sampled; `None` when that was not asked for.
    pub on_cpu: Option<Placement>,
    /// What is known of waits; `None` when that was not asked for.
    pub off_cpu: Option<OffCpu>,
    /// Whether time inside the kernel is part of the picture.
    pub kernel: KernelSide,
    /// Samples per second and running thread.
    pub rate_hz: u32,
    /// CPU time that one sample stands for.
    pub period: Duration,
    /// CPUs with a ring each.
    pub cpus: usize,
    /// Bytes of one ring.
    pub ring_bytes: usize,
    /// Of so many switches of a thread one carries a stack.
    pub wait_stack_every: u32,
    /// Frames at which the kernel cuts a stack.
    pub max_frames: u32,
    /// What a sampler with all rights would add.
    pub missing: Vec<Missing>,
}

/// What is known of waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffCpu {
    /// How long, why, and where the thread was.
    WithStacks(Placement),
    /// How long and why.
    TimesOnly,
}

/// Whether the kernel's side of a thread's time is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSide {
    /// It is.
    Seen,
    /// Only user code is sampled: system calls and page faults are not.
    Hidden,
}

/// A gap in the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What is not seen.
    pub part: Part,
    /// Why not.
    pub cause: Cause,
    /// What would add it; each alone is enough.
    pub remedies: Vec<Remedy>,
}

/// Something that a sampler may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Time and frames in the kernel.
    KernelSide,
    /// Stacks of waits.
    WaitStacks,
    /// Sampling that costs the target next to nothing.
    LowCost,
    /// Rings as large as wanted.
    RingSize {
        /// Bytes per CPU that were wanted.
        wanted: usize,
        /// Bytes per CPU there are.
        got: usize,
    },
    /// The rate that was asked for.
    Rate {
        /// In samples per second.
        wanted: u32,
        /// In samples per second.
        got: u32,
    },
    /// Some of the target's threads.
    Threads {
        /// How many.
        count: usize,
    },
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::KernelSide => f.write_str("time inside the kernel (system calls, page faults) and its frames"),
            Part::WaitStacks => f.write_str("the stacks of waiting threads: only how long each waited is known"),
            Part::LowCost => f.write_str(
                "sampling at next to no cost: each context switch of the target takes longer, so keep to 99 Hz",
            ),
            Part::RingSize { wanted, got } => {
                write!(f, "a buffer of {} KB per CPU: it has {} KB", wanted / 1024, got / 1024)
            }
            Part::Rate { wanted, got } => write!(f, "the rate of {wanted} Hz: it is {got} Hz"),
            Part::Threads { count } => write!(f, "{count} of the threads that there were at the start"),
        }
    }
}

/// Why the kernel refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// `kernel.perf_event_paranoid` is too high for one without capabilities.
    Paranoid {
        /// Its value.
        value: Option<i64>,
        /// The highest value that would do.
        needed: i64,
    },
    /// We have the capability, but only inside a user namespace.
    UserNamespace,
    /// A filter of system calls, as containers have.
    Filtered,
    /// A security module, or a rule of this kernel that cannot be read.
    SecurityModule,
    /// The process belongs to somebody else, or hides from its own user.
    OtherUser {
        /// Which one.
        process: ProcessId,
    },
    /// This kernel or sandbox has no perf events.
    NotInKernel,
    /// More locked memory than this user may have.
    LockedMemory {
        /// `RLIMIT_MEMLOCK` in bytes.
        limit: Option<u64>,
        /// `kernel.perf_event_mlock_kb`.
        ring_kb: Option<u64>,
    },
    /// No memory for it.
    OutOfMemory,
    /// More files than may be open at once.
    Descriptors {
        /// The limit.
        limit: Option<u64>,
    },
    /// `kernel.perf_event_max_sample_rate`.
    RateLimit {
        /// Its value.
        limit: u32,
    },
    /// Anything else, in the system's words.
    Other {
        /// What it said.
        message: String,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Paranoid { value: Some(value), needed } => {
                write!(
                    f,
                    "kernel.perf_event_paranoid is {value}, and without CAP_PERFMON it must be {needed} or less"
                )
            }
            Cause::Paranoid { value: None, needed } => {
                write!(f, "without CAP_PERFMON, kernel.perf_event_paranoid must be {needed} or less")
            }
            Cause::UserNamespace => {
                f.write_str("the capabilities of this process count inside its user namespace only")
            }
            Cause::Filtered => f.write_str("a seccomp filter, as containers have, refuses perf_event_open"),
            Cause::SecurityModule => {
                f.write_str("a security module or kernel lockdown refuses perf_event_open")
            }
            Cause::OtherUser { process } => write!(f, "process {process} is not this user's to look into"),
            Cause::NotInKernel => f.write_str("this kernel or sandbox has no perf_event_open"),
            Cause::LockedMemory { limit, ring_kb } => {
                f.write_str("the limit of locked memory")?;
                if let Some(limit) = limit {
                    write!(f, " is {} KB", limit / 1024)?;
                }
                if let Some(ring_kb) = ring_kb {
                    write!(f, ", beside {ring_kb} KB per CPU (kernel.perf_event_mlock_kb)")?;
                }
                Ok(())
            }
            Cause::OutOfMemory => f.write_str("the kernel has no memory for it"),
            Cause::Descriptors { limit: Some(limit) } => write!(f, "no more than {limit} files may be open"),
            Cause::Descriptors { limit: None } => f.write_str("too many files are open"),
            Cause::RateLimit { limit } => write!(f, "kernel.perf_event_max_sample_rate is {limit}"),
            Cause::Other { message } => write!(f, "perf_event_open says: {message}"),
        }
    }
}

/// One way to get more: a command, or a setting of whatever started us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Run as root.
    Root,
    /// Give this program a capability.
    Capability {
        /// Its file.
        program: String,
    },
    /// Give the container a capability.
    ContainerCapability,
    /// Change a setting of the kernel.
    Setting {
        /// Its name.
        name: &'static str,
        /// The value to give.
        value: i64,
    },
    /// Raise a limit of the shell, which what it starts inherits.
    Limit {
        /// Its name for `prlimit`.
        name: &'static str,
        /// The value to give.
        value: u64,
    },
    /// Run as the process's user.
    SameUser {
        /// The process.
        process: ProcessId,
    },
    /// Run outside the user namespace.
    OutsideNamespace,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Root => f.write_str("run it as root (sudo)"),
            Remedy::Capability { program } => {
                write!(f, "sudo setcap cap_perfmon,cap_ipc_lock=ep '{program}'")
            }
            Remedy::ContainerCapability => f.write_str(
                "start the container with --cap-add=PERFMON (and a seccomp profile that knows it)",
            ),
            Remedy::Setting { name, value } => write!(f, "sudo sysctl {name}={value}"),
            Remedy::Limit { name, value } => write!(f, "sudo prlimit --pid $$ --{name}={value}"),
            Remedy::SameUser { process } => write!(f, "run it as the user of process {process}"),
            Remedy::OutsideNamespace => {
                f.write_str("run it outside the container or user namespace, as root")
            }
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "missing: {}; because {}", self.part, self.cause)?;
        write_remedies(f, "to add it", &self.remedies)
    }
}

pub(crate) fn write_remedies(f: &mut impl fmt::Write, what_for: &str, remedies: &[Remedy]) -> fmt::Result {
    for (index, remedy) in remedies.iter().enumerate() {
        if index == 0 {
            write!(f, "; {what_for}: {remedy}")?;
        } else {
            write!(f, ", or {remedy}")?;
        }
    }
    Ok(())
}
