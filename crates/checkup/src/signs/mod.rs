//! Vital signs: everything that is cheap, all at once in one window.
//!
//! ```text
//! /proc at some moments ---+
//! control group, twice ----+--> Signs --> rules; which closer looks; the table of vital signs
//! one event session -------+
//! ```

mod container;
mod runtime;
mod surroundings;
mod system;
mod table;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use discovery::{DotnetProcess, Reach};
use event_session::Going;
use process_view::TaskState;
use profilers::{Control, Stop};

pub use container::Container;
pub use runtime::{Pauses, RuntimeSigns, Values};
pub use surroundings::{Surroundings, is_on};
pub use system::{Course, Descriptors, Moment, System};

/// Between two looks at /proc.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

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

/// The vital signs of a process.
#[derive(Clone, Debug, Default)]
pub struct Signs {
    /// How long was looked.
    pub window: Duration,
    /// What /proc says.
    pub system: Option<System>,
    /// Limits of its control group, at the end.
    pub container: Container,
    /// Periods of the window in which it was denied a processor, in per cent.
    pub throttled: Option<f64>,
    /// Processes of the group that were killed for lack of memory within the window.
    pub killed: u64,
    /// How it was started, and who else looks.
    pub surroundings: Surroundings,
    /// What the runtime says.
    pub runtime: Option<RuntimeSigns>,
    /// State of its main thread, when it stands still.
    pub frozen: Option<TaskState>,
    /// Whether it ended within the window.
    pub exited: bool,
    /// Whether the user wants the report now.
    pub cancelled: bool,
    /// What could not be looked at.
    pub unseen: Vec<Unseen>,
}

impl Signs {
    /// Looks at a process for a while.
    pub fn take(process: &DotnetProcess, window: Duration, control: &dyn Control) -> Signs {
        let begin = Instant::now();
        let mut signs = Signs { surroundings: Surroundings::of(process), ..Signs::default() };
        let before = Container::of(process.pid);
        let stop = AtomicBool::new(false);
        let mut moments = Vec::new();
        let frozen = |moments: &[Moment]| {
            let state = moments.last().map(|moment: &Moment| moment.state)?;
            surroundings::is_frozen(state).then_some(state)
        };
        moments.extend(Moment::of(process.pid).filter(|_| process.visible));
        let asks = process.reach == Reach::Ready && frozen(&moments).is_none();
        let told = std::thread::scope(|scope| {
            let session =
                asks.then(|| scope.spawn(|| runtime::listen(process, |waiting| heed(&stop, waiting))));
            while begin.elapsed() < window {
                control.progress(begin.elapsed(), window, "vital signs");
                let left = window.saturating_sub(begin.elapsed());
                signs.cancelled = control.wait(left.min(BETWEEN_LOOKS)) == Stop::Cancelled;
                let moment = Moment::of(process.pid);
                signs.exited = process.visible && moment.is_none();
                moments.extend(moment.filter(|_| process.visible));
                if signs.cancelled || signs.exited {
                    break;
                }
            }
            stop.store(true, Ordering::Release);
            session.map(std::thread::ScopedJoinHandle::join)
        });
        signs.window = begin.elapsed();
        signs.frozen = frozen(&moments);
        signs.system = System::between(process.pid, &moments);
        signs.container = Container::of(process.pid);
        signs.throttled = signs.container.throttled_percent_since(&before);
        signs.killed = signs.container.killed.saturating_sub(before.killed);
        match told {
            Some(Ok(Ok(told))) => signs.runtime = told,
            Some(Ok(Err(error))) if !signs.exited => signs.runtime_unseen(&error.to_string()),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            Some(Ok(Err(_))) => {}
            None => signs.unreached(process),
        }
        signs.exited |= signs.runtime.as_ref().is_some_and(|told| told.exited);
        signs.note_unseen(process);
        signs
    }

    /// The runtime's signs after a window of that length, if they came.
    #[must_use]
    pub fn told(&self) -> Option<&RuntimeSigns> {
        self.runtime.as_ref()
    }

    /// Processors that the process can use: those of the machine it may run on, or its share.
    #[must_use]
    pub fn processors(&self) -> f64 {
        let machine =
            self.surroundings.processors.filter(|count| *count > 0).map_or(f64::INFINITY, f64::from);
        machine.min(self.container.processors.unwrap_or(f64::INFINITY))
    }

    fn runtime_unseen(&mut self, why: &str) {
        self.unseen.push(Unseen {
            what: "what the runtime tells: collections, exceptions, locks, the pool, and who is to blame"
                .to_owned(),
            why: why.to_owned(),
            how: "drdotnet info -p PID   says what is missing".to_owned(),
        });
    }

    fn unreached(&mut self, process: &DotnetProcess) {
        let why = match &process.reach {
            _ if self.frozen.is_some() => "the process stands still and answers nobody".to_owned(),
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
                "share the pid namespace: docker --pid=container:NAME, or shareProcessNamespace in a pod",
            );
            return;
        }
        if !self.surroundings.has_environment {
            add(
                "the settings in its environment",
                "this user may not read them",
                "run as its user or as root",
            );
        }
        if self.system.as_ref().is_some_and(|system| system.descriptors.is_none()) {
            add("its open files and sockets", "this user may not list them", "run as its user or as root");
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
