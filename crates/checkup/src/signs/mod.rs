//! Vital signs: everything that is cheap, all at once in one window.
//!
//! ```text
//! /proc at some moments ---+
//! control group, twice ----+--> Signs --> rules; which closer looks; the table of vital signs
//! event sessions ----------+
//! ```

mod calls;
mod compiled;
mod connections;
mod container;
mod given_out;
mod runtime;
mod surroundings;
mod system;
mod table;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use diagnostics_ipc::IpcError;
use discovery::{DotnetProcess, Reach};
use event_session::Going;
use gc_memory::GcMemory;
use heap_collector::Expected;
use heap_graph::Generation;
use profilers::{Control, Stop};

use crate::clock::Stragglers;

use compiled::Compiler;
use connections::Sockets;
use judgement::HALF_CLOSED;
use judgement::signs::{Counting, Frozen, Signs};
use model::Redaction;
pub use system::Moment;
pub(crate) use table::section;

/// Between two looks at /proc.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
/// How long the runtime may take to end its session. It takes milliseconds; a process without a processor to run on, longer.
const PATIENCE: Duration = Duration::from_secs(4);

/// Before a process is believed to stand still: one that is traced or held back does so for moments.
const GLANCE: Duration = Duration::from_millis(60);
/// How often in a row it must have been seen so, if it was seen so often.
const STILL: usize = 3;
/// Why something is missing that a fault of ours took away; it has been printed.
pub(crate) const FAULT: &str = "drdotnet itself failed at it, which is a fault to be reported";

/// How a process stands still, if it did at all of the last moments.
fn frozen(moments: &[Moment]) -> Option<Frozen> {
    let mut last = moments.iter().rev().take(STILL).map(|moment| surroundings::frozen(moment.state));
    let now = last.next()??;
    last.all(|state| state.is_some()).then_some(now)
}

/// Bytes of the heap, as seen from outside.
struct HeapBytes {
    /// In which objects lie.
    objects: u64,
    /// Large ones among them.
    large: u64,
    /// That the system has given to the heap, those that are kept for later among them.
    taken: u64,
}

impl HeapBytes {
    /// None while a collection has the heap in disorder.
    fn of(heap: &GcMemory) -> Option<HeapBytes> {
        let layout = heap.heap();
        let mut bytes = HeapBytes { objects: 0, large: 0, taken: layout.free.committed };
        for range in &layout.ranges {
            let objects = range.end.saturating_sub(range.start);
            bytes.objects = bytes.objects.saturating_add(objects);
            if range.generation == Generation::Large {
                bytes.large = bytes.large.saturating_add(objects);
            }
            bytes.taken = bytes.taken.saturating_add(range.committed.saturating_sub(range.start));
        }
        (!layout.in_disorder).then_some(bytes)
    }
}

/// The first version that names the threads of pool, timers and sockets.
const NAMES_SERVANTS: u32 = 8;

/// Before this age, a program may not have started yet what it needs.
const STARTED: Duration = Duration::from_secs(5);

/// Whether the runtime has to count. Its counters tell of the pool, of timers and of calls, and of the heap, which can be seen from outside.
/// To count costs a program whose collector is busy more than all the rest: reading its own memory, it uses the shared buffers, which are looked
/// through after every full collection from then on, for as long as the program lives.
fn counting(process: &DotnetProcess, first: Option<&Moment>, heap: Option<&GcMemory>) -> Counting {
    let is_named = process.runtime_major().is_some_and(|major| major >= NAMES_SERVANTS);
    let has_none = first.is_some_and(|moment| !moment.has_servants());
    // Right now a collection may have it in disorder; that passes.
    let is_seen = heap.is_some_and(|heap| !heap.heap().ranges.is_empty());
    let has_started = process.uptime.is_some_and(|uptime| uptime >= STARTED);
    if is_named && has_none && is_seen && has_started { Counting::Unneeded } else { Counting::Asked }
}

/// How a process in another pid namespace can be seen.
pub(crate) const SHARE_NAMESPACE: &str =
    "share the pid namespace: docker --pid=container:NAME, or shareProcessNamespace in a pod";

/// Descriptors that a process needs to be asked: one for each session, some for the agent.
const DESCRIPTORS_TO_ASK: u64 = 24;

/// Something that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// What it would have been.
    pub what: String,
    /// Why not.
    pub why: String,
    /// How to allow it.
    pub how: String,
}

/// What was taken of the vital signs, and how.
#[derive(Debug, Default)]
pub struct Vitals {
    /// The signs.
    pub signs: Signs,
    /// Whether the user wants the report now.
    pub cancelled: bool,
    /// Descriptors that it could open before its limit, at the start.
    pub spare_descriptors: Option<u64>,
    /// What could not be looked at.
    pub unseen: Vec<Unseen>,
    /// What a look at its heap would take, once somebody wants to know.
    pub(crate) heap: OnceLock<Expected>,
}

/// What a session asks when it has to wait.
type Heed<'a> = dyn FnMut(event_session::Waiting) -> Going + 'a;

impl Vitals {
    /// Looks at a process for a while. A session that does not end is left to itself, among the stragglers.
    pub fn take(
        process: &DotnetProcess,
        window: Duration,
        control: &dyn Control,
        redaction: Redaction,
        stragglers: &mut Stragglers,
    ) -> Vitals {
        let begin = Instant::now();
        let mut vitals = Vitals::default();
        let mut signs = Signs { surroundings: surroundings::of(process), ..Signs::default() };
        // The number of a process that is not shown is that of another here.
        let pid = process.visible.then_some(process.pid);
        let before = pid.map(container::of).unwrap_or_default();
        let connections = |pid| Sockets::of(pid, HALF_CLOSED);
        let connected = pid.map(connections).unwrap_or_default();
        let mut moments: Vec<Moment> = pid.and_then(Moment::of).into_iter().collect();
        if frozen(&moments).is_some() {
            control.wait(GLANCE);
            moments.extend(pid.and_then(Moment::of));
        }
        signs.frozen = frozen(&moments);
        vitals.spare_descriptors = moments.first().and_then(Moment::spare_descriptors);
        let asks = process.reach == Reach::Ready && signs.frozen.is_none() && !vitals.lacks_descriptors();
        let heap = pid.and_then(|pid| GcMemory::open(pid).ok());
        let counting = counting(process, moments.first(), heap.as_ref());
        let session = asks
            .then(|| Session::begin(process, move |process, heed| runtime::listen(process, counting, heed)));
        // Who has neither pool nor timers nor sockets makes no calls to be listened to.
        let mut compiler = pid.filter(|_| asks && counting == Counting::Unneeded).and_then(Compiler::open);
        let calls = (asks && compiler.is_none())
            .then(|| Session::begin(process, move |process, heed| calls::listen(process, counting, heed)));
        let mut look = |signs: &mut Signs| {
            compiler.iter_mut().for_each(|compiler| compiler.look(begin.elapsed()));
            let seen = heap.as_ref().and_then(HeapBytes::of);
            signs.managed.0.extend(seen.iter().map(|seen| seen.objects));
            signs.large.0.extend(seen.iter().map(|seen| seen.large));
            signs.taken.0.extend(seen.iter().map(|seen| seen.taken));
        };
        look(&mut signs);
        while begin.elapsed() < window {
            control.progress(begin.elapsed(), window, "vital signs");
            let left = window.saturating_sub(begin.elapsed());
            vitals.cancelled = control.wait(left.min(BETWEEN_LOOKS)) == Stop::Cancelled;
            let is_last = vitals.cancelled || begin.elapsed() >= window;
            let moment = pid.and_then(|pid| match moments.first() {
                Some(first) if !is_last => Moment::glance(pid, first),
                _ => Moment::of(pid),
            });
            signs.exited = pid.is_some() && moment.is_none();
            moments.extend(moment);
            look(&mut signs);
            if vitals.cancelled || signs.exited {
                break;
            }
        }
        let queue = heap.as_ref().and_then(GcMemory::finalizer_queue);
        signs.waiting_for_finalizer = queue.map(|queue| queue.ready.len() as u64);
        session.iter().for_each(Session::stop);
        calls.iter().for_each(Session::stop);
        let until = Instant::now() + PATIENCE;
        let reported = session.map(|session| session.end(until, stragglers));
        let calls = calls.map(|session| session.end(until, stragglers));
        signs.window = begin.elapsed();
        match reported {
            Some(Ok(heard)) => {
                let freed = heard.as_ref().map_or(0, |heard| heard.freed);
                signs.runtime = heard.map(|heard| heard.signs);
                if let (Some(runtime), Some((first, last))) =
                    (&mut signs.runtime, signs.managed.0.first().zip(signs.managed.0.last()))
                {
                    runtime.seen = Some((*last as f64, runtime.rate((last + freed).saturating_sub(*first))));
                }
            }
            Some(Err(why)) if !signs.exited => vitals.runtime_unseen(&why),
            Some(Err(_)) => {}
            None => vitals.unreached(process, signs.frozen),
        }
        signs.frozen = frozen(&moments);
        signs.system = system::between(process.pid, &moments, redaction);
        signs.container = pid.map(container::of).unwrap_or_default();
        let sockets = pid.map(connections).unwrap_or_default();
        signs.half_closed = sockets.still_half_closed(&connected);
        signs.connections = sockets.counted();
        signs.throttled = signs.container.throttled_percent_since(&before);
        signs.killed = signs.container.killed.saturating_sub(before.killed);
        // Why not is said already.
        let heard = calls.and_then(Result::ok).unwrap_or_default();
        signs.calls = heard.calls;
        if let Some(runtime) = &mut signs.runtime {
            let rate = heard.compiled.and_then(|count| runtime::rate_once_settled(count, signs.calls.window));
            runtime.compiled_seen = rate.or_else(|| compiler.and_then(|compiler| compiler.rate()));
        }
        signs.exited |= signs.runtime.as_ref().is_some_and(|runtime| runtime.exited);
        vitals.signs = signs;
        vitals.note_unseen(process);
        vitals
    }

    /// Whether it has too few descriptors left to be asked anything.
    fn lacks_descriptors(&self) -> bool {
        self.spare_descriptors.is_some_and(|left| left < DESCRIPTORS_TO_ASK)
    }

    /// Whether the process has been stopped since: then no look got an answer.
    pub fn look_again(&mut self, process: &DotnetProcess) {
        let view = process_view::Process::new(process.pid);
        let glance = |number: usize| {
            std::thread::sleep(if number == 0 { Duration::ZERO } else { GLANCE });
            view.stat().ok().map(|stat| stat.state).filter(|state| surroundings::frozen(*state).is_some())
        };
        if process.visible && self.signs.frozen.is_none() {
            // The first that sees it run is the last.
            let state = (0..STILL).try_fold(None, |_, number| glance(number).map(Some)).flatten();
            self.signs.frozen = state.and_then(surroundings::frozen);
        }
    }

    fn runtime_unseen(&mut self, why: &str) {
        self.unseen.push(Unseen {
            what: "what the runtime reports: collections, exceptions, locks, the pool, and who is to blame"
                .to_owned(),
            why: why.to_owned(),
            how: "drdotnet info -p PID".to_owned(),
        });
    }

    fn unreached(&mut self, process: &DotnetProcess, frozen: Option<Frozen>) {
        let why = match &process.reach {
            _ if frozen.is_some() => "the process stands still and answers nobody".to_owned(),
            _ if self.lacks_descriptors() => {
                let left = self.spare_descriptors.unwrap_or(0);
                format!(
                    "it can open only {left} more files or sockets, and a runtime without any may end the process"
                )
            }
            Reach::Ready => "the process did not answer".to_owned(),
            Reach::NoAnswer { .. } => {
                "its diagnostics socket accepts connections, but nobody answers".to_owned()
            }
            Reach::Forbidden => "it belongs to another user".to_owned(),
            Reach::Off(_) => "its diagnostics are switched off".to_owned(),
            Reach::Broken { problem } => problem.clone(),
        };
        self.runtime_unseen(&why);
    }

    fn note_unseen(&mut self, process: &DotnetProcess) {
        let mut add = |what: &str, why: &str, how: &str| {
            self.unseen.push(Unseen { what: what.to_owned(), why: why.to_owned(), how: how.to_owned() });
        };
        if !process.visible {
            add(
                "its threads, processors, memory and descriptors",
                "it lives in another pid namespace, which /proc does not show here",
                SHARE_NAMESPACE,
            );
            return;
        }
        if self.signs.calls.too_many {
            add(
                "how long each outgoing call takes",
                "there are more than 1,000 a second, and listening to all would cost the program more than 1 % of a processor",
                "drdotnet run async-hot-paths -p PID   looks at the methods that wait for them",
            );
        }
        if !self.signs.surroundings.has_environment {
            add(
                "the settings in its environment",
                "this user may not read them",
                "run as its user or as root",
            );
        }
        if self.signs.system.as_ref().is_some_and(|system| system.descriptors.is_none()) {
            add("its open files and sockets", "this user may not list them", "run as its user or as root");
        }
    }
}

/// A session with the runtime, on a thread that nobody has to wait for.
struct Session<T> {
    stop: Arc<AtomicBool>,
    outcome: std::sync::mpsc::Receiver<Result<T, String>>,
    thread: std::thread::JoinHandle<()>,
}

impl<T: Send + 'static> Session<T> {
    fn begin(
        process: &DotnetProcess,
        listen: impl FnOnce(&DotnetProcess, &mut Heed<'_>) -> Result<T, IpcError> + Send + 'static,
    ) -> Session<T> {
        let (sender, outcome) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (asked, process) = (Arc::clone(&stop), process.clone());
        let thread = std::thread::spawn(move || {
            let heard = listen(&process, &mut |waiting| heed(&asked, waiting));
            // Nobody listens any more to one that comes too late.
            drop(sender.send(heard.map_err(|error| error.to_string())));
        });
        Session { stop, outcome, thread }
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    fn end(self, until: Instant, stragglers: &mut Stragglers) -> Result<T, String> {
        self.stop();
        match self.outcome.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => {
                stragglers.add(self.thread);
                Err("the runtime began to tell, and then did not answer any more".to_owned())
            }
            Err(RecvTimeoutError::Disconnected) => Err(FAULT.to_owned()),
        }
    }
}

fn heed(stop: &AtomicBool, waiting: event_session::Waiting) -> Going {
    if stop.load(Ordering::Acquire) {
        return Going::Stop;
    }
    std::thread::sleep(waiting.slice);
    Going::On
}

#[cfg(test)]
mod tests {
    use testbed::{Runtime, shared};

    use super::*;

    #[test]
    fn one_that_collects_all_the_time_is_at_no_moment_asked_to_count() {
        let target = shared().target("allocation-pressure", Runtime::Net9).start().unwrap();
        let pid = model::ProcessId(target.pid());
        let mut process = discovery::find(pid, &discovery::Options::default()).unwrap();
        process.uptime = Some(STARTED);
        let heap = GcMemory::open(pid).unwrap();
        let first = Moment::of(pid);
        let mut in_disorder = 0;
        for _ in 0..1000 {
            in_disorder += u32::from(HeapBytes::of(&heap).is_none());
            assert_eq!(counting(&process, first.as_ref(), Some(&heap)), Counting::Unneeded);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(in_disorder > 0, "else this proves nothing");
    }
}
