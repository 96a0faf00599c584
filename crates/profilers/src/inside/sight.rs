//! All threads of a process at one moment: what the agent says of the managed ones, what the kernel says of all.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use agent_host::{AgentError, Stacks};
use discovery::DotnetProcess;
use model::{Frame, FrameKind};
use process_view::{ProcessorTime, Task, TaskState};

use super::naming::{Lines, Named, NamedThread, Namer};
use super::parked::Parked;
use super::{Guest, kernel_wait, thread_names};
use crate::blame;
use crate::sampling::{Doing, POOL_DISPATCH, Roster, plain, told_by};
use crate::threads::kind_of_work;

/// Names that are told of a group of threads.
const MOST_NAMES: usize = 4;
/// Names of the thread pool's threads, from .NET 6 on.
const POOL_NAMES: &str = ".NET TP ";
/// Methods below which a thread of the pool waits for work.
const POOL_LOOPS: &[&str] = &[
    "System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart",
    "System.Threading.PortableThreadPool.GateThread.GateThreadStart",
    "System.Threading.PortableThreadPool.WaitThread.WaitThreadStart",
    "System.Threading.PortableThreadPool.IOCompletionPoller.Poll",
];

/// A queue on which threads wait for work.
const QUEUE: &str = "System.Collections.Concurrent.BlockingCollection.";

/// What a thread does, and which method of the framework says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Why {
    pub(crate) doing: Doing,
    /// Such as `Monitor.Enter`.
    pub(crate) by: Option<String>,
}

impl Why {
    /// `waits for a lock (Monitor.Enter)`.
    pub(crate) fn words(&self) -> String {
        match &self.by {
            Some(by) => format!("{} ({by})", self.doing.words()),
            None => self.doing.words().to_owned(),
        }
    }
}

/// A thread.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Its number in the target's pid namespace.
    pub(crate) inside: u32,
    /// As the kernel shows it to us; `None` if it ended meanwhile.
    pub(crate) task: Option<Task>,
    /// Its name in the operating system.
    pub(crate) name: String,
    /// Whether the runtime knows it.
    pub(crate) managed: bool,
    /// Its managed frames, innermost first.
    pub(crate) frames: Vec<Arc<Frame>>,
    /// Native frames and those of the kernel below the innermost managed one, if they were asked for.
    pub(crate) native: Vec<Frame>,
    /// Whether outer frames are missing.
    pub(crate) cut: bool,
    /// What it does.
    pub(crate) why: Why,
    /// Its state shortly after its stack was taken.
    pub(crate) state: Option<TaskState>,
    /// When it started, in the kernel's ticks since boot.
    pub(crate) started: Option<u64>,
    /// The system call it waits in.
    pub(crate) waits_in: Option<String>,
    /// What it got of the processors so far.
    pub(crate) processor: Option<ProcessorTime>,
    /// How often it gave up a processor to wait.
    pub(crate) rests: Option<u64>,
}

/// All threads at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sight {
    /// By their numbers.
    pub(crate) threads: Vec<Seen>,
    /// How well the lines of the frames are known.
    pub(crate) lines: Lines,
    /// Whether the kernel told what threads wait in.
    pub(crate) waits_told: bool,
    /// Whether native frames were asked for, and this user may not see them.
    pub(crate) native_refused: bool,
}

/// Whether native frames are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Native {
    /// No.
    Hide,
    /// Those of threads that wait.
    Show,
}

/// The same before anything has a name: names are looked up when the agent is gone.
pub(crate) struct Unnamed {
    stacks: Stacks,
    kernel: HashMap<u64, Kernel>,
    parked: Option<Parked>,
    /// When it was taken.
    pub(crate) at: Instant,
}

impl Unnamed {
    /// Takes the stacks, then looks what the kernel says.
    pub(crate) fn take(guest: &mut Guest<'_>, native: Native) -> Result<Unnamed, AgentError> {
        let stacks = guest.stacks()?;
        Ok(Unnamed::of(guest.target(), stacks, native))
    }

    /// Looks what the kernel says of threads whose stacks were just taken.
    pub(crate) fn of(target: &DotnetProcess, stacks: Stacks, native: Native) -> Unnamed {
        let at = Instant::now();
        let roster = Roster::new(target);
        let kernel = roster.iter().flat_map(Roster::members).map(|(inside, member)| {
            let stat = member.task.stat().ok();
            let kernel = Kernel {
                name: member.name.clone(),
                task: member.task,
                state: stat.as_ref().map(|stat| stat.state),
                started: stat.map(|stat| stat.start_ticks),
                processor: member.task.processor_time(),
                rests: member.task.rests(),
                waits_in: kernel_wait::of(&member.task),
            };
            (inside, kernel)
        });
        let mut kernel: HashMap<u64, Kernel> = kernel.collect();
        if is_one_name(kernel.values().map(|kernel| kernel.name.as_str())) {
            let threads = stacks.stacks.iter().map(|stack| stack.thread);
            for (os, name) in thread_names::read(target.pid, threads) {
                if let Some(kernel) = kernel.get_mut(&u64::from(os)) {
                    kernel.name = name;
                }
            }
        }
        let parked = (native == Native::Show)
            .then(|| Parked::look(target.pid, kernel.values().map(|kernel| kernel.task.id)));
        Unnamed { stacks, kernel, parked, at }
    }

    /// What names need to be found for.
    pub(crate) fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// A thread, as the kernel shows it, by its number in the target's namespace.
    pub(crate) fn task(&self, inside: u32) -> Option<&Task> {
        self.kernel.get(&u64::from(inside)).map(|kernel| &kernel.task)
    }

    /// What a thread was doing, as the kernel saw it.
    pub(super) fn state(&self, inside: u32) -> Option<TaskState> {
        self.kernel.get(&u64::from(inside))?.state
    }

    /// How often a thread gave up a processor to wait, so far.
    pub(crate) fn rests(&self, inside: u32) -> Option<u64> {
        self.kernel.get(&u64::from(inside))?.rests
    }

    /// Threads whose stack is the same in a later look, to the instruction.
    pub(crate) fn unmoved(&self, later: &Unnamed) -> HashSet<u32> {
        let before: HashMap<_, _> =
            self.stacks.stacks.iter().map(|stack| (stack.thread, &stack.frames)).collect();
        let after = later.stacks.stacks.iter();
        after
            .filter(|stack| before.get(&stack.thread).is_some_and(|frames| **frames == stack.frames))
            .map(|stack| stack.thread.os)
            .collect()
    }

    /// With names.
    pub(crate) fn named(self, namer: &mut Namer) -> Sight {
        let mut sight = Sight::of(Named::of(namer, &self.stacks), self.kernel);
        if let Some(parked) = self.parked {
            sight.native_refused = !parked.allowed;
            let mut native = parked.named(namer.code().as_deref());
            for thread in &mut sight.threads {
                let id = thread.task.map(|task| task.id.0);
                thread.native = id.and_then(|id| native.remove(&id)).unwrap_or_default();
            }
        }
        sight
    }
}

impl Sight {
    fn of(named: Named, mut kernel: HashMap<u64, Kernel>) -> Sight {
        let lines = named.lines;
        let waits_told = kernel.values().any(|kernel| kernel.waits_in.is_some());
        let mut threads: Vec<Seen> = named
            .threads
            .into_iter()
            .map(|thread| Seen::new(Some(&thread), thread.os, kernel.remove(&u64::from(thread.os))))
            .collect();
        threads.extend(
            kernel.into_iter().filter_map(|(inside, kernel)| {
                Some(Seen::new(None, u32::try_from(inside).ok()?, Some(kernel)))
            }),
        );
        threads.retain(|thread| thread.name != agent_host::THREAD_NAME);
        threads.sort_by_key(|thread| thread.inside);
        Sight { threads, lines, waits_told, native_refused: false }
    }
}

/// What the kernel says of a thread.
struct Kernel {
    name: String,
    task: Task,
    state: Option<TaskState>,
    started: Option<u64>,
    processor: Option<ProcessorTime>,
    rests: Option<u64>,
    waits_in: Option<String>,
}

impl Seen {
    fn new(managed: Option<&NamedThread>, inside: u32, kernel: Option<Kernel>) -> Seen {
        let frames = managed.map(|thread| thread.frames.clone()).unwrap_or_default();
        let state = kernel.as_ref().and_then(|kernel| kernel.state);
        let mut seen = Seen {
            inside,
            managed: managed.is_some(),
            cut: managed.is_some_and(|thread| thread.cut),
            why: why(&frames, state),
            frames,
            native: Vec::new(),
            state,
            started: kernel.as_ref().and_then(|kernel| kernel.started),
            task: None,
            name: String::new(),
            waits_in: None,
            processor: None,
            rests: None,
        };
        if let Some(kernel) = kernel {
            seen.task = Some(kernel.task);
            (seen.name, seen.waits_in) = (kernel.name, kernel.waits_in);
            (seen.processor, seen.rests) = (kernel.processor, kernel.rests);
        }
        seen
    }

    /// Its number, as the kernel shows it to us if it does.
    pub(crate) fn tid(&self) -> u32 {
        self.task.map_or(self.inside, |task| task.id.0)
    }

    /// Whether it belongs to the thread pool.
    pub(crate) fn in_pool(&self) -> bool {
        let loops = |frame: &Arc<Frame>| {
            let name = plain(&frame.name);
            POOL_DISPATCH.contains(&name.as_str()) || POOL_LOOPS.contains(&name.as_str())
        };
        self.name.starts_with(POOL_NAMES) || self.frames.iter().any(loops)
    }

    /// Whether it waits for work, with no code of the program on its stack, or has no managed frame at all.
    pub(crate) fn is_idle(&self) -> bool {
        self.why.doing == Doing::Parked
    }

    /// The innermost frame of the program's own code.
    pub(crate) fn own_frame(&self) -> Option<&Frame> {
        self.frames
            .iter()
            .map(AsRef::as_ref)
            .find(|frame| blame::is_own(frame) && frame.name != blame::UNNAMED)
    }
}

/// What a thread does, by the framework's methods between its innermost and the program's own.
pub(crate) fn why(frames: &[Arc<Frame>], state: Option<TaskState>) -> Why {
    let mut found: Option<(Doing, String)> = None;
    let mut has_work = false;
    for frame in frames.iter().filter(|frame| frame.kind == FrameKind::Managed) {
        let name = plain(&frame.name);
        if blame::is_own(frame) || POOL_DISPATCH.contains(&name.as_str()) {
            has_work = true;
            break;
        }
        // The wait for a task ends in a wait for a signal, that for work in a semaphore: the outer one says why.
        if name.starts_with(QUEUE) {
            found = Some((Doing::WaitsForSignal, name));
        } else if let Some(doing) = told_by(&name)
            && found.as_ref().is_none_or(|(known, _)| doing <= *known)
        {
            found = Some((doing, name));
        }
    }
    if !has_work {
        return Why { doing: Doing::Parked, by: None };
    }
    let runs = state == Some(TaskState::Running);
    match found {
        // Between two system calls; one that spins while it waits, waits.
        Some((Doing::Network | Doing::Files, _)) if runs => Why { doing: Doing::Runs, by: None },
        Some((doing, name)) => Why { doing, by: Some(last_two(&name)) },
        None if runs => Why { doing: Doing::Runs, by: None },
        None => Why { doing: Doing::Outside, by: None },
    }
}

/// `Monitor.Enter` of `System.Threading.Monitor.Enter`.
fn last_two(name: &str) -> String {
    let mut parts = name.rsplitn(3, '.');
    match (parts.next(), parts.next()) {
        (Some(method), Some(kind)) => format!("{kind}.{}", method.trim_end()),
        _ => name.to_owned(),
    }
}

/// The names of threads, those that differ in a number together: `export-* (12)`, `main`.
pub(crate) fn names(threads: &[&Seen]) -> Vec<String> {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for thread in threads {
        let name = if thread.name.is_empty() { "?" } else { thread.name.as_str() };
        groups.entry(kind_of_work(name)).or_default().push(name);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|(a, few), (b, many)| many.len().cmp(&few.len()).then(a.cmp(b)));
    let more = groups.len().saturating_sub(MOST_NAMES);
    let mut names: Vec<String> = groups
        .into_iter()
        .take(MOST_NAMES)
        .map(|(kind, members)| match members.as_slice() {
            [one] => (*one).to_owned(),
            many => format!("{kind} ({})", many.len()),
        })
        .collect();
    if more > 0 {
        names.push(format!("{more} other names"));
    }
    names
}

/// Whether all threads have the name of the process, because the runtime gives them none.
fn is_one_name<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut names = names.filter(|name| *name != agent_host::THREAD_NAME);
    let Some(first) = names.next() else { return false };
    names.all(|name| name == first)
}

#[cfg(test)]
mod tests {
    use process_view::TaskState::{Running, Sleeping};

    use super::super::specimen::thread;
    use super::*;

    const LIB: &str = "System.Private.CoreLib!System.Threading";

    fn words(state: TaskState, frames: &[&str]) -> String {
        thread(1, "a", state, frames).why.words()
    }

    #[test]
    fn the_outer_method_of_the_framework_says_why() {
        let (wait, slim) = (format!("{LIB}.Monitor.Wait"), format!("{LIB}.ManualResetEventSlim.Wait"));
        let task = format!("{LIB}.Tasks.Task.Wait");
        assert_eq!(words(Sleeping, &[&wait, "Shop.Pay"]), "waits for a signal (Monitor.Wait)");
        assert_eq!(words(Sleeping, &[&wait, &slim, &task, "Shop.Pay"]), "waits for a task (Task.Wait)");
        let semaphore = format!("{LIB}.SemaphoreSlim.Wait");
        let take =
            "System.Collections.Concurrent!System.Collections.Concurrent.BlockingCollection<int>.TryTake";
        assert_eq!(words(Sleeping, &[&semaphore, "Shop.Pay"]), "waits for a lock (SemaphoreSlim.Wait)");
        assert_eq!(
            words(Sleeping, &[&semaphore, take, "Shop.Pay"]),
            "waits for a signal (BlockingCollection.TryTake)"
        );
        assert_eq!(words(Sleeping, &["Shop.Pay"]), "outside .NET code");
        assert_eq!(words(Running, &["Shop.Pay"]), "runs");
        let read = "System.Net.Sockets!System.Net.Sockets.Socket.Receive";
        assert_eq!(words(Sleeping, &[read, "Shop.Pay"]), "network (Socket.Receive)");
        assert_eq!(words(Running, &[read, "Shop.Pay"]), "runs");
        assert_eq!(words(Running, &[&wait, "Shop.Pay"]), "waits for a signal (Monitor.Wait)", "it spins");
        assert_eq!(words(Sleeping, &[&wait]), "idle");
        assert_eq!(words(Sleeping, &[]), "idle");
    }

    #[test]
    fn threads_that_differ_in_a_number_have_one_name() {
        let threads: Vec<Seen> =
            ["b-1", "b-2", "a", "c", "d", "e"].iter().map(|name| thread(1, name, Sleeping, &[])).collect();
        let threads: Vec<&Seen> = threads.iter().collect();
        assert_eq!(names(&threads), ["b-* (2)", "a", "c", "d", "1 other names"]);
        assert!(is_one_name(["dotnet", agent_host::THREAD_NAME, "dotnet"].into_iter()));
        assert!(!is_one_name(["dotnet", "main"].into_iter()) && !is_one_name(std::iter::empty()));
    }
}
