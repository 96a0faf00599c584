//! What /proc says of the process in the window: processors, threads, memory, descriptors.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::time::Instant;

use facts::Descriptors;
use judgement::signs::{Course, System};
use model::{ProcessId, Redaction, TargetText, ThreadId};
use process_view::{Clock, Process, ProcessorTime, TaskState};

/// Descriptors whose targets are read; all of them are counted.
const MAX_LINKS: usize = 20_000;

/// The runtime calls the threads so that talk to tools or send them events (.NET 5), and by mistake one that waits for profilers to
/// leave, once there was one.
const SENDER: &str = ".NET EventPipe";

/// How the names begin of threads that the runtime has for the pool, timers and sockets (.NET 8), and which stay once there was one: those
/// of timers and sockets for ever, those of the pool while it has work.
const SERVANTS: &[&str] = &[".NET TP", ".NET Timer", ".NET Sockets"];

/// All open descriptors.
fn opened(pid: ProcessId) -> Option<impl Iterator<Item = fs::DirEntry>> {
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten())
}

fn descriptors(pid: ProcessId) -> Option<Descriptors> {
    let mut found = Descriptors::default();
    let mut folders: HashMap<String, u64> = HashMap::new();
    for (number, entry) in opened(pid)?.enumerate() {
        found.total += 1;
        if number >= MAX_LINKS {
            continue;
        }
        let Ok(link) = fs::read_link(entry.path()) else { continue };
        let text = link.to_string_lossy();
        if text.starts_with("socket:") {
            found.sockets += 1;
        } else if text.starts_with("pipe:") {
            found.pipes += 1;
        } else if text.starts_with('/') && !text.starts_with("/dev/") && !text.starts_with("/memfd:") {
            found.files += 1;
            let folder = link.parent().map(|folder| folder.to_string_lossy().into_owned());
            *folders.entry(folder.unwrap_or_default()).or_default() += 1;
        } else {
            found.others += 1;
        }
    }
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    found.limit = most_open_files(&limits);
    found.busiest_folder = folders.into_iter().max_by_key(|(name, count)| (*count, name.clone()));
    Some(found)
}

/// The soft limit in the line `Max open files   1024   524288   files`.
fn most_open_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// The process at one moment.
#[derive(Clone, Debug)]
pub struct Moment {
    at: Instant,
    /// State of its main thread.
    pub state: TaskState,
    /// How many threads it has.
    count: u64,
    /// Those that were asked for their time: all, or at a glance those that send events.
    threads: BTreeMap<ThreadId, ProcessorTime>,
    senders: Vec<ThreadId>,
    /// Whether a thread of it serves the pool, timers or sockets, unless it was a glance.
    has_servants: bool,
    /// Processor time of all threads, those that have ended among them, in ticks.
    ticks: u64,
    resident: Option<u64>,
    /// Open descriptors.
    open: Option<u64>,
    /// What they are, unless it was a glance.
    descriptors: Option<Descriptors>,
    is_glance: bool,
}

impl Moment {
    /// Looks at everything. `None` when the process is gone, or not shown.
    pub fn of(pid: ProcessId) -> Option<Moment> {
        Moment::look(pid, None)
    }

    /// Looks at what changes: each thread and each descriptor that is asked takes a processor some microseconds.
    pub fn glance(pid: ProcessId, first: &Moment) -> Option<Moment> {
        Moment::look(pid, Some(first))
    }

    fn look(pid: ProcessId, first: Option<&Moment>) -> Option<Moment> {
        let process = Process::new(pid);
        let whole = process.stat().ok()?;
        if matches!(whole.state, TaskState::Zombie | TaskState::Dead) {
            return None;
        }
        let tasks = process.tasks().ok()?;
        let count = tasks.len() as u64;
        let mut threads = BTreeMap::new();
        let mut senders = Vec::new();
        let mut has_servants = false;
        for task in tasks {
            let is_asked = first.is_none_or(|first| first.may_send(task.id));
            let name = if is_asked { task.name().unwrap_or_default() } else { String::new() };
            has_servants |= SERVANTS.iter().any(|servant| name.starts_with(servant));
            let sends = name == SENDER;
            if sends {
                senders.push(task.id);
            }
            if sends || first.is_none() {
                threads.insert(task.id, task.processor_time().unwrap_or_default());
            }
        }
        let descriptors = if first.is_none() { descriptors(pid) } else { None };
        let counted = || Some(opened(pid)?.count() as u64);
        Some(Moment {
            at: Instant::now(),
            state: whole.state,
            count,
            threads,
            senders,
            has_servants,
            ticks: whole.user_ticks.saturating_add(whole.system_ticks),
            resident: process.status().ok().and_then(|status| status.resident_bytes),
            open: descriptors.as_ref().map(|open| open.total).or_else(counted),
            descriptors,
            is_glance: first.is_some(),
        })
    }

    /// Whether it has, or had when this was looked at, a pool, timers or sockets to be served. Names tell since .NET 8.
    pub fn has_servants(&self) -> bool {
        self.has_servants
    }

    /// Whether a thread sends events, as far as is known from this moment: those that were there keep their names.
    fn may_send(&self, thread: ThreadId) -> bool {
        self.senders.contains(&thread) || !self.threads.contains_key(&thread)
    }

    /// Descriptors that the process could still open.
    pub fn spare_descriptors(&self) -> Option<u64> {
        let open = self.descriptors.as_ref()?;
        Some(open.limit?.saturating_sub(open.total))
    }

    /// Processor time of the threads that send events, in nanoseconds.
    fn sending_ns(&self) -> Option<u64> {
        let used = self.senders.iter().filter_map(|id| self.threads.get(id));
        used.map(|used| used.ran_ns).reduce(u64::saturating_add)
    }

    /// Threads that sent events at this moment and have been at it since. The first is the server that tools talk to.
    fn sending_until(&self, last: &Moment) -> usize {
        let server = self.senders.iter().min();
        let ran = |moment: &Moment, id| moment.threads.get(id).map(|used| used.ran_ns);
        let others = self.senders.iter().filter(|id| Some(*id) != server);
        others.filter(|id| ran(last, id) > ran(self, id)).count()
    }
}

/// What happened between the moments. `None` without two.
pub fn between(pid: ProcessId, moments: &[Moment], redaction: Redaction) -> Option<System> {
    let (first, last) = (moments.first()?, moments.last()?);
    let window = last.at.duration_since(first.at);
    let mut system = System { window, ..System::default() };
    if moments.len() < 2 || window.is_zero() {
        return None;
    }
    let mut busiest = (0, None);
    // One that ended within the window was only glanced at since.
    let seen = moments.iter().rev().find(|moment| !moment.is_glance).unwrap_or(last);
    for (id, after) in &seen.threads {
        let before = first.threads.get(id).copied().unwrap_or_default();
        let ran = after.ran_ns.saturating_sub(before.ran_ns);
        system.ran_ns += ran;
        system.ready_ns += after.waited_ns.saturating_sub(before.waited_ns);
        if ran > busiest.0 {
            busiest = (ran, Some(*id));
        }
    }
    // Threads that have ended are in the ticks of the process, which are coarser.
    let ticks = last.ticks.saturating_sub(first.ticks);
    let all = Clock::now().duration(ticks);
    system.ran_ns = system.ran_ns.max(u64::try_from(all.as_nanos()).unwrap_or(u64::MAX));
    // It is gone when the session is.
    let before = first.sending_ns().unwrap_or(0);
    let most = moments.iter().filter_map(Moment::sending_ns).max();
    system.for_us_ns = most.map(|most| most.saturating_sub(before));
    system.listeners = first.sending_until(last);
    let share = busiest.0 as f64 / window.as_nanos() as f64 * 100.0;
    system.busiest = busiest.1.map(|id| (thread_name(pid, id), share));
    let course = |of: &dyn Fn(&Moment) -> Option<u64>| Course(moments.iter().filter_map(of).collect());
    system.threads = course(&|moment| Some(moment.count));
    system.resident = course(&|moment| moment.resident);
    system.open = course(&|moment| moment.open);
    system.descriptors.clone_from(&seen.descriptors);
    if let Some((folder, _)) = system.descriptors.as_mut().and_then(|open| open.busiest_folder.as_mut()) {
        *folder = TargetText::new(folder).shown(redaction);
    }
    system.at_first = first.descriptors.as_ref().map_or((0, 0), |open| (open.files, open.sockets));
    Some(system)
}

fn thread_name(pid: ProcessId, id: ThreadId) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/task/{id}/comm")).unwrap_or_default();
    format!("{} ({id})", name.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen_twice() {
        let pid = ProcessId(std::process::id());
        let first = Moment::of(pid).unwrap();
        let file = fs::File::open("/proc/self/exe").unwrap();
        let last = Moment::of(pid).unwrap();
        drop(file);
        let system = between(pid, &[first, last], Redaction::Off).unwrap();
        assert!(system.threads.last() >= 1);
        let open = system.descriptors.unwrap();
        assert!(open.files >= 1 && open.total >= open.files, "{open:?}");
        assert!(open.limit.is_some());
    }

    #[test]
    fn a_glance_counts_without_asking_each() {
        let pid = ProcessId(std::process::id());
        let first = Moment::of(pid).unwrap();
        let glance = Moment::glance(pid, &first).unwrap();
        assert!(glance.count >= 1 && glance.threads.is_empty(), "{glance:?}");
        assert!(glance.open > Some(0) && glance.descriptors.is_none(), "{glance:?}");
        // One that ends meanwhile is known as it was when it was last asked.
        let system = between(pid, &[first, glance], Redaction::Off).unwrap();
        assert_eq!(system.open.0.len(), 2);
        assert!(system.descriptors.is_some_and(|open| open.limit.is_some()));
    }

    #[test]
    fn only_threads_that_send_are_listened_to() {
        // The server, one that never runs, one that does, and one that began within the window: our own.
        let moment = |senders: &[(u32, u64)]| {
            let threads = senders.iter().map(|(id, ran_ns)| {
                (ThreadId(*id), ProcessorTime { ran_ns: *ran_ns, ..ProcessorTime::default() })
            });
            Moment {
                at: Instant::now(),
                state: TaskState::Sleeping,
                count: 3,
                threads: threads.collect(),
                senders: senders.iter().map(|(id, _)| ThreadId(*id)).collect(),
                has_servants: false,
                ticks: 0,
                resident: None,
                open: None,
                descriptors: None,
                is_glance: false,
            }
        };
        let first = moment(&[(10, 5), (20, 7), (30, 9)]);
        let last = moment(&[(10, 6), (20, 7), (30, 12), (40, 3)]);
        assert_eq!(first.sending_until(&last), 1);
        assert_eq!(last.sending_ns(), Some(28));
    }
}
