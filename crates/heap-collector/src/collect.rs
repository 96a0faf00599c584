//! The two sessions of a collection.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use diagnostics_ipc::{BufferingMode, Client, IpcError, Level, Provider, Rundown, TraceRequest};
use event_session::{Driven, Going, Observed, SessionEnd, Waiting, observe_shortly};
use runtime_events::{keyword, provider};

use crate::collected::Collected;
use crate::error::{Error, Missing};
use crate::owners::Assemblies;
use crate::snapshot::{Progress, Snapshot};

/// How a heap is collected.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Room for events in the *target*, in megabytes: taken only as far as they come faster than we read.
    pub buffer_mb: u32,
    /// The target is given up when it sends nothing for so long. Marking a very large heap takes minutes.
    pub patience: Duration,
    /// Whether the runtime is also asked where its generations lie; it then tells what survived, too.
    pub generations: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { buffer_mb: 256, patience: Duration::from_secs(600), generations: false }
    }
}

/// How far a collection is.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// How long the watcher may take before it answers.
    pub slice: Duration,
    /// Since the sessions began.
    pub elapsed: Duration,
    /// Objects told so far.
    pub objects: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// How long nothing has come.
    pub silent: Duration,
    /// Whether the collection is over and only names are to come.
    pub told: bool,
}

/// Watches a collection: asked again and again whether to go on.
pub trait Watch {
    /// Waits for `stage.slice` and says whether to go on. After a stop the collection of the target still runs to its
    /// end, which nobody can prevent, and is waited for.
    fn look(&mut self, stage: &Stage) -> Going;
}

/// Collects the heap of a process: one full, blocking collection in it.
pub fn collect(
    client: &Client,
    options: &Options,
    assemblies: &dyn Assemblies,
    watch: &mut dyn Watch,
) -> Result<Collected, Error> {
    let began = Instant::now();
    let progress = Arc::new(Progress::default());
    let observer = Snapshot::new(Arc::clone(&progress));
    let mut waiter = Waiter {
        progress: &progress,
        watch,
        options,
        seen: (0, Instant::now()),
        end: None,
        granted: None,
        asked: None,
    };
    let driven = observe_shortly(client, &listening(options), observer, |waiting| {
        // Asked for here and not before: the first session is open now, and its events flow.
        waiter.asked.get_or_insert_with(|| ask(client.clone()));
        waiter.wait(waiting)
    })?;
    let end = waiter.end;
    finish(driven, end, &progress, assemblies, began)
}

/// The session that listens.
fn listening(options: &Options) -> TraceRequest {
    let more = if options.generations { keyword::GC_SURVIVAL } else { 0 };
    let keywords = more | (keyword::HEAP_SNAPSHOT & !keyword::GC_HEAP_COLLECT);
    TraceRequest {
        buffer_mb: options.buffer_mb,
        // Modules alone; older runtimes send everything, methods included.
        rundown: Rundown::Keywords(keyword::LOADER),
        stacks: false,
        buffering: BufferingMode::Block,
        providers: vec![Provider::new(provider::RUNTIME, keywords, Level::Informational)],
    }
}

/// The session that makes the runtime collect. It is granted after the collection, and nothing comes of it.
fn wish() -> TraceRequest {
    TraceRequest {
        buffer_mb: 1,
        rundown: Rundown::None,
        stacks: false,
        buffering: BufferingMode::Drop,
        providers: vec![Provider::new(provider::RUNTIME, keyword::GC_HEAP_COLLECT, Level::Informational)],
    }
}

/// Asks for the collection. The answer comes when it is over and the session that asked is ended; a thread of its own
/// waits for it, which is left alone when the target is given up.
fn ask(client: Client) -> Receiver<Result<(), IpcError>> {
    let (tell, answer) = channel();
    let asking = std::thread::Builder::new().name("ask-for-collection".into());
    let spawned = asking.spawn(move || {
        // As long as events flow, the collection may take what it takes.
        let outcome = client.with_timeout(LONGEST).collect_tracing(&wish()).map(drop);
        let _ = tell.send(outcome);
    });
    drop(spawned);
    answer
}

/// Why the waiting ended before the heap was told.
enum EarlyEnd {
    Cancelled,
    Silent(Duration),
    /// The collection could not be asked for.
    NotAsked(IpcError),
    /// The collection is over and no more comes, for so long.
    NoEnd(Duration),
}

struct Waiter<'a> {
    progress: &'a Progress,
    watch: &'a mut dyn Watch,
    options: &'a Options,
    /// Bytes, and since when.
    seen: (u64, Instant),
    end: Option<EarlyEnd>,
    /// Since when the wish has been granted.
    granted: Option<Instant>,
    asked: Option<Receiver<Result<(), IpcError>>>,
}

/// Longer than any collection.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// After the collection, what is on its way comes within this time.
const REST: Duration = Duration::from_secs(15);

impl Waiter<'_> {
    fn wait(&mut self, waiting: Waiting) -> Going {
        if waiting.bytes != self.seen.0 {
            self.seen = (waiting.bytes, Instant::now());
        }
        match self.asked.as_ref().map(Receiver::try_recv) {
            Some(Ok(Ok(()))) => self.granted = Some(Instant::now()),
            Some(Ok(Err(error))) => {
                self.end = Some(EarlyEnd::NotAsked(error));
                return Going::Stop;
            }
            _ => {}
        }
        let silent = self.seen.1.elapsed();
        let told = self.progress.complete.load(Ordering::Acquire);
        // Both sessions must be over before the first is ended: one that asks for a collection and is still open when
        // another ends would get a second collection.
        if let Some(since) = self.granted {
            if told || self.end.is_some() {
                return Going::Stop;
            }
            if silent > REST && since.elapsed() > REST {
                self.end = Some(EarlyEnd::NoEnd(silent));
                return Going::Stop;
            }
        } else if silent > self.options.patience {
            self.end = Some(EarlyEnd::Silent(silent));
            return Going::Stop;
        }
        let stage = Stage {
            slice: waiting.slice,
            elapsed: waiting.elapsed,
            objects: self.progress.objects.load(Ordering::Relaxed),
            bytes: waiting.bytes,
            silent,
            told,
        };
        if self.watch.look(&stage) == Going::Stop && self.end.is_none() {
            self.progress.discard.store(true, Ordering::Release);
            self.end = Some(EarlyEnd::Cancelled);
        }
        Going::On
    }
}

fn finish(
    driven: Driven<Observed<Snapshot>>,
    end: Option<EarlyEnd>,
    progress: &Progress,
    assemblies: &dyn Assemblies,
    began: Instant,
) -> Result<Collected, Error> {
    let told = progress.complete.load(Ordering::Acquire);
    match end {
        Some(EarlyEnd::Cancelled) => return Err(Error::Cancelled),
        Some(EarlyEnd::Silent(time)) => return Err(Error::Silent(time)),
        Some(EarlyEnd::NotAsked(error)) if driven.end != SessionEnd::TargetExited => return Err(error.into()),
        Some(EarlyEnd::NotAsked(_)) => return Err(Error::TargetExited),
        // It does not even end its stream: it was stopped after it had granted the wish.
        Some(EarlyEnd::NoEnd(time)) if driven.value.damage.is_some() && !told => {
            return Err(Error::Silent(time));
        }
        Some(EarlyEnd::NoEnd(_)) | None => {}
    }
    if driven.end == SessionEnd::TargetExited && !told {
        return Err(Error::TargetExited);
    }
    let seen = driven.value;
    if let (Some(damage), false) = (seen.damage, told) {
        return Err(Error::Damaged(damage));
    }
    let snapshot = seen.observer;
    let mut missing = snapshot.missing();
    if missing.end && !snapshot.has_objects() && seen.losses.events == 0 {
        return Err(Error::NoHeap);
    }
    missing.undecodable = seen.undecodable;
    // The last events of a list leave no gap in its numbers when they are dropped, so any loss counts.
    missing.events = seen.losses.events;
    if !missing.is_nothing() {
        return Err(Error::Incomplete(missing));
    }
    let pause = snapshot.pause();
    let handles = snapshot.handles();
    let (graph, unnamed_types) = snapshot.graph(assemblies).map_err(incomplete)?;
    Ok(Collected {
        graph,
        handles,
        pause,
        bytes: driven.bytes,
        events: seen.events,
        elapsed: began.elapsed(),
        unnamed_types,
        granted: driven.granted,
    })
}

/// References that did not come are a hole in the heap.
pub(crate) fn incomplete(error: Error) -> Error {
    match error {
        Error::Graph(heap_graph::Error::LostReferences { announced, given }) => {
            Error::Incomplete(Missing { references: announced.abs_diff(given), ..Missing::default() })
        }
        other => other,
    }
}
