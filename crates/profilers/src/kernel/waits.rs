//! What a thread waits for, judged by the functions on its stack; and which waits are nobody's concern.

use std::collections::HashMap;

use model::{Frame, FrameKind};
use stacks::{Profile, StackKey};

use super::kinds::{has_name, is_collector, is_runtime};
use super::view::{Spell, View};
use crate::ratio::percent;
use crate::sampling::{Calls, Doing, Doings, Kinds, Mode};

/// A thread that waits in one place for this part of the window, in per cent, only waits.
const STILL: f64 = 99.0;

/// Queues that threads wait at for work: a wait below them is for work, not for an answer.
const QUEUES: &[&str] = &["System.Collections.Concurrent.BlockingCollection", "System.Threading.Channels."];

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Wait {
    Task,
    Lock,
    /// In the runtime, which has no symbols: a lock, or the garbage collector.
    LockOrCollector,
    Collector,
    /// In the runtime, for something else.
    Runtime,
    Signal,
    Sleep,
    Network,
    Files,
    Memory,
    Child,
    Native,
    NoStack,
    Idle(Idle),
}

/// Why a wait is nobody's concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Idle {
    /// No code of the program is on the stack: a pool thread without work, a timer, an event loop.
    Work,
    /// No .NET code is on the stack.
    Runtime,
    /// For the next client.
    Client,
    /// For the next item of a queue.
    Queue,
    /// A thread of its own that sleeps between its turns.
    Pause,
    /// In one place all the time, not for a lock, and not on a pool thread at work.
    Still,
}

impl Wait {
    /// In a few words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Wait::Task => "waits for a task",
            Wait::Lock => "waits for a lock",
            Wait::LockOrCollector => "waits for a lock or the GC",
            Wait::Collector => "waits for the GC",
            Wait::Runtime => "waits in the runtime",
            Wait::Signal => "waits for a signal",
            Wait::Sleep => "sleeps",
            Wait::Network => "network",
            Wait::Files => "files and pipes",
            Wait::Memory => "memory management",
            Wait::Child => "waits for a child process",
            Wait::Native => "waits in native code",
            Wait::NoStack => "no stack",
            Wait::Idle(idle) => idle.words(),
        }
    }

    pub(super) fn is_idle(self) -> bool {
        matches!(self, Wait::Idle(_))
    }

    /// Whether it may last as long as it likes.
    fn may_last(self) -> bool {
        !matches!(self, Wait::Lock | Wait::LockOrCollector | Wait::Collector | Wait::Memory)
    }
}

impl Idle {
    fn words(self) -> &'static str {
        match self {
            Idle::Work => "idle: waits for work",
            Idle::Runtime => "idle: no .NET code",
            Idle::Client => "idle: waits for clients",
            Idle::Queue => "idle: waits for a queue",
            Idle::Pause => "idle: sleeps between turns",
            Idle::Still => "idle: in one place all the time",
        }
    }

    /// As part of a sentence about threads.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Idle::Work => "waited for work",
            Idle::Runtime => "run no .NET code",
            Idle::Client => "waited for clients",
            Idle::Queue => "waited at a queue",
            Idle::Pause => "slept between turns",
            Idle::Still => "waited in one place all the time",
        }
    }
}

/// A wait, judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    pub(super) spell: Spell,
    pub(super) wait: Wait,
}

/// Judges all waits of a process in a window of so many nanoseconds.
pub(super) fn judge(view: &View<'_>, window: u64) -> Vec<Judged> {
    let mut doings = Doings::new(&view.whole, Kinds::Tell);
    let mut known: HashMap<StackKey, Wait> = HashMap::new();
    let mut judged = Vec::with_capacity(view.waiting.len());
    for spell in &view.waiting {
        let wait = spell.whole.map_or(Wait::NoStack, |stack| {
            *known.entry(stack).or_insert_with(|| wait(&view.whole, &mut doings, stack))
        });
        judged.push(Judged { spell: *spell, wait });
    }
    for judged in &mut judged {
        let at_work = judged.spell.whole.is_some_and(|stack| doings.in_pool(stack));
        let still = percent(judged.spell.ns, window) >= STILL && !at_work;
        if still && judged.wait.may_last() && !judged.wait.is_idle() {
            judged.wait = Wait::Idle(Idle::Still);
        }
    }
    judged
}

/// A profile of waits without those that are nobody's concern, and how long those were, in nanoseconds.
pub(super) fn without_idle(mut profile: Profile) -> (Profile, u64) {
    let calls = Calls::new(profile.frames.clone(), profile.nodes.clone());
    let mut doings = Doings::new(&calls, Kinds::Tell);
    let mut known: HashMap<StackKey, bool> = HashMap::new();
    let mut idle_ns = 0;
    profile.samples.retain(|sample| {
        let idle = sample.stack.is_some_and(|stack| {
            *known.entry(stack).or_insert_with(|| wait(&calls, &mut doings, stack).is_idle())
        });
        idle_ns += if idle { sample.weight } else { 0 };
        !idle
    });
    (profile, idle_ns)
}

fn wait(calls: &Calls, doings: &mut Doings<'_>, stack: StackKey) -> Wait {
    let frames: Vec<&Frame> = calls.frames(stack).map(|(_, frame)| frame).collect();
    if frames.iter().all(|frame| frame.kind == FrameKind::Kernel) {
        return Wait::NoStack;
    }
    let Some(innermost) = frames.iter().position(|frame| frame.kind == FrameKind::Managed) else {
        return Wait::Idle(Idle::Runtime);
    };
    let outside = &frames[..innermost];
    let of_framework = || frames[innermost..].iter().take_while(|frame| !crate::blame::is_own(frame));
    let told = match doings.of(Some(stack), Mode::Outside) {
        Doing::Parked => return Wait::Idle(Idle::Work),
        Doing::WaitsForTask => Wait::Task,
        Doing::WaitsForLock => Wait::Lock,
        Doing::WaitsForSignal if of_framework().any(|frame| is_queue(frame)) => Wait::Idle(Idle::Queue),
        Doing::WaitsForSignal => Wait::Signal,
        Doing::Sleeps => Wait::Sleep,
        Doing::Network => Wait::Network,
        Doing::Files => Wait::Files,
        Doing::Runs | Doing::Outside => by_native(outside),
    };
    match told {
        Wait::Sleep if !doings.in_pool(stack) => Wait::Idle(Idle::Pause),
        Wait::Network if is_accept(outside, of_framework()) => Wait::Idle(Idle::Client),
        told => told,
    }
}

fn is_queue(frame: &Frame) -> bool {
    QUEUES.iter().any(|queue| frame.name.starts_with(queue))
}

fn is_accept<'a>(outside: &[&Frame], framework: impl IntoIterator<Item = &'a &'a Frame>) -> bool {
    outside.iter().any(|frame| begins(frame, &["inet_csk_accept", "accept", "unix_accept"]))
        || framework.into_iter().any(|frame| frame.name.contains(".Accept"))
}

/// Functions of the kernel, and of the C library where the kernel's are not seen, by how they begin. The first that
/// matches counts: files are read by the functions that read sockets, too.
const BY_SYSTEM: &[(Wait, &[&str])] = &[
    (Wait::Memory, &["exc_page_fault", "do_user_addr_fault", "rwsem_down", "mmap_read_lock"]),
    (Wait::Sleep, &["nanosleep", "do_nanosleep", "clock_nanosleep", "hrtimer_nanosleep"]),
    (Wait::Child, &["do_wait", "kernel_wait", "wait4", "waitpid", "waitid"]),
    (
        Wait::Network,
        &[
            "tcp_",
            "udp_",
            "inet",
            "sock_",
            "sk_",
            "unix_",
            "do_epoll",
            "ep_poll",
            "epoll_",
            "do_poll",
            "do_sys_poll",
            "poll",
            "ppoll",
            "do_select",
            "select",
            "recv",
            "send",
            "connect",
            "accept",
        ],
    ),
    (
        Wait::Files,
        &[
            "io_schedule",
            "vfs_",
            "ext4_",
            "xfs_",
            "btrfs_",
            "jbd2_",
            "filemap_",
            "folio_wait",
            "pipe_",
            "anon_pipe",
            "do_fsync",
            "fsync",
            "pread",
            "pwrite",
            "read",
            "write",
            "flock",
            "fcntl",
        ],
    ),
];

/// Functions of the runtime, where it has symbols, by what their names contain.
const BY_RUNTIME: &[(Wait, &[&str])] = &[
    (Wait::Lock, &["AwareLock", "JIT_MonEnter", "JITutil_MonEnter", "MonitorEnter", "Monitor_Enter"]),
    (Wait::Collector, &["RareDisablePreemptiveGC", "JIT_RareDisableHelper", "JIT_PollGC"]),
    (Wait::Sleep, &["ThreadNative::Sleep", "ThreadNative_Sleep"]),
    (
        Wait::Signal,
        &[
            "SyncBlock::Wait",
            "WaitHandleNative::",
            "WaitHandle_Wait",
            "ThreadNative::Join",
            "ThreadNative_Join",
        ],
    ),
];

/// What a thread waits for that has called out of .NET code, by where it went.
fn by_native(outside: &[&Frame]) -> Wait {
    for (wait, functions) in BY_RUNTIME {
        let names = |frame: &&&Frame| functions.iter().any(|function| frame.name.contains(function));
        if outside.iter().filter(|frame| is_runtime(frame)).any(|frame| names(&frame)) {
            return *wait;
        }
    }
    for (wait, functions) in BY_SYSTEM {
        if outside.iter().any(|frame| begins(frame, functions)) {
            return *wait;
        }
    }
    if outside.iter().any(|frame| is_collector(frame)) {
        Wait::Collector
    } else if outside.iter().any(|frame| is_runtime(frame) && !has_name(frame)) {
        Wait::LockOrCollector
    } else if outside.iter().any(|frame| is_runtime(frame)) {
        Wait::Runtime
    } else {
        Wait::Native
    }
}

/// Whether a function of the kernel or of the C library begins with one of these, whatever variant of it this is.
fn begins(frame: &Frame, functions: &[&str]) -> bool {
    let is_system = match frame.kind {
        FrameKind::Kernel => true,
        FrameKind::Native => frame.module.as_deref().is_some_and(|module| module.contains("libc")),
        _ => false,
    };
    let mut name = frame.name.as_str();
    while let Some(shorter) =
        ["_", "GI_", "libc_", "x64_", "arm64_", "sys_"].iter().find_map(|prefix| name.strip_prefix(prefix))
    {
        name = shorter;
    }
    is_system && functions.iter().any(|function| name.starts_with(function))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: FrameKind, name: &str) -> Frame {
        let module = (kind == FrameKind::Native).then(|| "/lib/libc.so.6".to_owned());
        Frame { kind, name: name.to_owned(), module, file: None, line: None }
    }

    fn of_kernel(names: &[&str]) -> Wait {
        let frames: Vec<Frame> = names.iter().map(|name| frame(FrameKind::Kernel, name)).collect();
        by_native(&frames.iter().collect::<Vec<_>>())
    }

    #[test]
    fn waits_outside_of_net_are_told_by_the_kernel() {
        assert_eq!(
            of_kernel(&["schedule", "futex_do_wait", "__x64_sys_futex", "do_syscall_64"]),
            Wait::Native
        );
        assert_eq!(of_kernel(&["sk_wait_data", "tcp_recvmsg", "vfs_read", "ksys_read"]), Wait::Network);
        assert_eq!(of_kernel(&["io_schedule", "folio_wait_bit", "vfs_read"]), Wait::Files);
        assert_eq!(
            of_kernel(&["io_schedule", "filemap_fault", "asm_exc_page_fault", "exc_page_fault"]),
            Wait::Memory
        );
        assert_eq!(of_kernel(&["do_wait", "kernel_wait4"]), Wait::Child);
        assert_eq!(of_kernel(&["schedule", "do_nanosleep"]), Wait::Sleep);
        assert_eq!(by_native(&[&frame(FrameKind::Native, "__GI___libc_read")]), Wait::Files);
    }

    #[test]
    fn the_runtime_tells_locks_from_collections_where_it_has_symbols() {
        let futex = frame(FrameKind::Kernel, "futex_do_wait");
        let named = |name: &str| by_native(&[&futex, &frame(FrameKind::Runtime, name)]);
        assert_eq!(named("AwareLock::EnterEpilogHelper(Thread*, int)"), Wait::Lock);
        assert_eq!(named("Thread::RareDisablePreemptiveGC()"), Wait::Collector);
        assert_eq!(named("WKS::GCHeap::WaitUntilGCComplete(bool)"), Wait::Collector);
        assert_eq!(named("ThreadNative::Sleep(int)"), Wait::Sleep);
        assert_eq!(named("SyncBlock::Wait(int)"), Wait::Signal);
        assert_eq!(named("EEPolicy::HandleExit()"), Wait::Runtime);
        assert_eq!(named("libcoreclr.so+0x66a8b5"), Wait::LockOrCollector);
    }
}
