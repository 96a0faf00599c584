//! Names of code, from the runtime of one process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use diagnostics_ipc::{Client, IpcError, Level, Provider, Rundown, TraceRequest};
use event_session::{Going, Observer, Seen, observe};
use kernel_profile::Unknown;
use model::ProcessId;
use runtime_events::RuntimeEvent;
use runtime_events::jit::Tier;
use runtime_memory::RuntimeMemory;
use symbols::{CodeMap, LIVE_FOR_LINES, RUNDOWN_FOR_LINES};

use crate::request::NamesFirst;

const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
/// Room for code that comes while we look: some thousand methods between two readings.
const LIVE_BUFFER_MB: u32 = 4;
/// Room for all names at once, in the target, for as long as it takes to send them.
const RUNDOWN_BUFFER_MB: u32 = 32;

/// Why a process has no names, or not all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamesFailure {
    /// There is no way to its runtime.
    NoRuntime,
    /// Its runtime refused, or the connection broke.
    Refused(String),
    /// It did not answer in time.
    NoAnswer,
    /// It was not asked, because that could have crashed it: it unloads code.
    Withheld,
}

/// How the names of a process were got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// Methods with a name.
    pub methods: u64,
    /// Bytes that came for it.
    pub bytes: u64,
    /// Events that came for it.
    pub events: u64,
    /// Events that the runtime dropped.
    pub lost: u64,
    /// How often the runtime was asked for all its names.
    pub asked: u32,
    /// How long the answers took, together.
    pub took: Duration,
    /// Addresses whose names were read from the memory of the process, because its runtime could not tell them or would
    /// have had to tell of too much.
    pub from_memory: u64,
    /// What went wrong.
    pub failure: Option<NamesFailure>,
}

/// Code that sessions tell of as it comes.
pub type SharedCode = Arc<Mutex<CodeMap>>;

/// Where methods begin and how long they are, until somebody takes it.
pub(crate) type SharedPlaces = Arc<Mutex<Vec<(u64, u32)>>>;

/// Places that wait to be taken.
const MOST_PLACES: usize = 1 << 20;

struct Learner {
    code: SharedCode,
    places: SharedPlaces,
}

/// The code of a method, unless it took the place of one that ran.
fn place(event: &RuntimeEvent<'_>) -> Option<(u64, u32)> {
    let (RuntimeEvent::MethodLoad(method) | RuntimeEvent::MethodRundown(method)) = event else { return None };
    (method.flags.tier() != Tier::Tier1OnStackReplacement).then_some((method.start.0, method.code_bytes))
}

impl Observer for Learner {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>) {
        // Ticks of the runtime are nanoseconds of the kernel's clock.
        let at_ns = seen.event.header.timestamp.0;
        self.code.lock().unwrap_or_else(PoisonError::into_inner).learn_at(event, at_ns);
        if let Some(place) = place(event) {
            let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            if places.len() < MOST_PLACES {
                places.push(place);
            }
        }
    }
}

/// What a session came to.
struct Came {
    events: u64,
    bytes: u64,
    lost: u64,
    took: Duration,
    withheld: bool,
}

type Outcome = Result<Came, IpcError>;

/// A thread that will say how its session went.
struct Session {
    outcome: Receiver<Outcome>,
}

impl Session {
    /// Waits for the end of the session. `None` when it takes longer.
    fn end(&self, patience: Duration) -> Option<Outcome> {
        self.outcome.recv_timeout(patience).ok()
    }
}

/// Names of one process, from the moment it is made on.
pub(crate) struct NameSource {
    client: Option<Client>,
    code: SharedCode,
    places: SharedPlaces,
    stop: Arc<AtomicBool>,
    live: Option<Session>,
    /// Ends when the live session has begun, or has failed to.
    listening: Option<Receiver<()>>,
    rundown: Option<Session>,
    memory: Memory,
    has_missed: bool,
    naming: Naming,
}

/// The memory of the process as a source of names.
enum Memory {
    /// Not needed so far.
    Unopened,
    /// In use.
    Open(Box<RuntimeMemory>),
    /// Too old, or not ours to read.
    Closed,
}

impl NameSource {
    /// Begins to learn. Nothing is waited for.
    pub(crate) fn begin(client: Option<Client>, first: NamesFirst) -> NameSource {
        NameSource::with(client, first, Memory::Unopened)
    }

    /// The same for a process that can be read.
    pub(crate) fn begin_with(memory: RuntimeMemory, client: Option<Client>, first: NamesFirst) -> NameSource {
        NameSource::with(client, first, Memory::Open(Box::new(memory)))
    }

    fn with(client: Option<Client>, first: NamesFirst, memory: Memory) -> NameSource {
        let mut source = NameSource {
            client,
            code: SharedCode::default(),
            places: SharedPlaces::default(),
            stop: Arc::default(),
            live: None,
            listening: None,
            rundown: None,
            memory,
            has_missed: false,
            naming: Naming::default(),
        };
        let Some(client) = source.client.clone() else {
            source.naming.failure = Some(NamesFailure::NoRuntime);
            return source;
        };
        let listens = first != NamesFirst::Once || !source.reads_memory();
        let begun = listens.then(|| {
            let (began, begun) = channel();
            source.live = Some(source.listen(client.clone(), began));
            begun
        });
        match first {
            NamesFirst::Awaited | NamesFirst::Once => source.rundown = Some(source.ask(client, begun)),
            NamesFirst::Later => source.listening = begun,
        }
        source
    }

    pub(crate) fn code(&self) -> &SharedCode {
        &self.code
    }

    /// Whether its runtime has told of all its code.
    pub(crate) fn knows_all(&self) -> bool {
        let is_told = self.naming.asked > 0 || !self.reads_memory();
        is_told && self.rundown.is_none() && !self.has_failed()
    }

    /// Whether names are read from memory all the time.
    pub(crate) fn reads_memory(&self) -> bool {
        matches!(self.memory, Memory::Open(_))
    }

    /// Reads the names of these addresses from the memory of the process.
    pub(crate) fn read_memory(&mut self, pid: ProcessId, unknown: &Unknown) {
        if let Memory::Unopened = self.memory {
            let opened = RuntimeMemory::open(pid);
            self.memory = opened.map_or(Memory::Closed, |memory| Memory::Open(Box::new(memory)));
        }
        if let Memory::Open(memory) = &mut self.memory {
            let mut code = self.code.lock().unwrap_or_else(PoisonError::into_inner);
            let compiled = memory.teach(&mut code, unknown.memory_bytes());
            self.naming.from_memory += compiled + memory.teach(&mut code, unknown.assembly_bytes());
            code.settle();
            self.has_missed |= compiled > 0 && self.live.is_none() && self.naming.asked > 0;
        }
    }

    /// Whether code came that nobody told of: memory has its names, but no IL maps.
    pub(crate) fn has_missed(&self) -> bool {
        self.has_missed
    }

    /// Whether its runtime is known not to tell.
    pub(crate) fn has_failed(&self) -> bool {
        self.naming.failure.is_some()
    }

    /// Methods that came since the last time.
    pub(crate) fn take_places(&self) -> Vec<(u64, u32)> {
        std::mem::take(&mut *self.places.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the names of all code that was there at the beginning are known.
    pub(crate) fn ready(&mut self, patience: Duration) -> bool {
        let Some(rundown) = &self.rundown else { return true };
        match rundown.end(patience) {
            Some(outcome) => {
                self.rundown = None;
                self.count(outcome);
                true
            }
            None => false,
        }
    }

    /// Waits until what comes from now on will be told.
    pub(crate) fn listens(&self, patience: Duration) {
        if let Some(listening) = &self.listening {
            // Nothing is ever sent.
            let _ = listening.recv_timeout(patience);
        }
    }

    /// Asks for all names once more. Whether they came.
    pub(crate) fn ask_again(&mut self, patience: Duration) -> bool {
        if let Some(client) = self.client.clone().filter(|_| self.rundown.is_none()) {
            self.rundown = Some(self.ask(client, None));
        }
        self.ready(patience)
    }

    /// Tells the runtime that nobody listens any more.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// How it went. To be called after [`NameSource::stop`].
    pub(crate) fn finish(mut self, patience: Duration) -> (SharedCode, Naming) {
        let until = Instant::now() + patience;
        if !self.ready(patience) {
            self.naming.failure.get_or_insert(NamesFailure::NoAnswer);
        }
        if let Some(live) = self.live.take() {
            match live.end(until.saturating_duration_since(Instant::now())) {
                Some(outcome) => self.count(outcome),
                None => _ = self.naming.failure.get_or_insert(NamesFailure::NoAnswer),
            }
        }
        let mut code = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        code.settle();
        self.naming.methods = code.naming().methods;
        drop(code);
        (self.code, self.naming)
    }

    fn count(&mut self, outcome: Outcome) {
        match outcome {
            Ok(came) => {
                self.naming.bytes += came.bytes;
                self.naming.events += came.events;
                self.naming.lost += came.lost;
                self.naming.took += came.took;
                if came.withheld {
                    self.naming.failure.get_or_insert(NamesFailure::Withheld);
                }
            }
            Err(error) => {
                self.naming.failure.get_or_insert(NamesFailure::Refused(error.to_string()));
            }
        }
    }

    /// A session that tells of code that comes and goes, until [`NameSource::stop`].
    fn listen(&self, client: Client, began: Sender<()>) -> Session {
        let request = TraceRequest {
            rundown: Rundown::None,
            stacks: false,
            ..TraceRequest::new(LIVE_BUFFER_MB, vec![Provider::new(RUNTIME, LIVE_FOR_LINES, Level::Verbose)])
        };
        let stop = Arc::clone(&self.stop);
        let mut began = Some(began);
        self.run("names-live", client, request, None, move |waiting| {
            drop(began.take());
            if stop.load(Ordering::Acquire) {
                return Going::Stop;
            }
            std::thread::sleep(waiting);
            Going::On
        })
    }

    /// A session that is stopped at once: the runtime then tells of all code that it has.
    fn ask(&mut self, client: Client, after: Option<Receiver<()>>) -> Session {
        self.naming.asked += 1;
        let request = TraceRequest::names_alone(RUNDOWN_BUFFER_MB, RUNDOWN_FOR_LINES);
        self.run("names-all", client, request, after, |_| Going::Stop)
    }

    fn run(
        &self,
        name: &str,
        client: Client,
        request: TraceRequest,
        after: Option<Receiver<()>>,
        mut wait: impl FnMut(Duration) -> Going + Send + 'static,
    ) -> Session {
        let learner = Learner { code: Arc::clone(&self.code), places: Arc::clone(&self.places) };
        let (tell, outcome) = channel();
        let thread = std::thread::Builder::new().name(name.to_owned());
        let started = thread.spawn(move || {
            if let Some(after) = after {
                // Ends when the other session has begun, or has failed to.
                let _ = after.recv();
            }
            let begin = Instant::now();
            let driven = observe(&client, &request, learner, |waiting| wait(waiting.slice));
            let came = driven.map(|driven| Came {
                events: driven.value.events,
                bytes: driven.bytes,
                lost: driven.value.losses.events,
                took: begin.elapsed(),
                withheld: driven.value.withheld_names,
            });
            let _ = tell.send(came);
        });
        // Without a thread there is no outcome, which counts as no answer.
        drop(started);
        Session { outcome }
    }
}
