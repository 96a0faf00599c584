//! The heap by the events of one full collection, which an agent in the process receives and hands on: the runtime keeps
//! none of them, so that its memory does not grow.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use agent_host::{Attached, EventReader, GraphOrder, GraphSink, GraphWay, ObjectSink, ToldEvent, ToldObject};
use discovery::DotnetProcess;
use event_session::Going;
use nettrace::{EventVersion, PayloadReader, PointerSize};
use process_view::Process;
use runtime_events::decode_numbered;

use crate::by_agent::{Declined, Unfinished, declined, longest, most_bytes};
use crate::collect::{Stage, Watch, incomplete};
use crate::error::Error;
use crate::files::ProcessFiles;
use crate::snapshot::{Progress, Snapshot};
use crate::take::{Taken, Way, Wish, lacks};

/// Numbers from here on are those of the rundown, at the end of a session.
const RUNDOWN: u16 = 140;

/// The first event of every session, whose number is that of another event of the runtime; that one is of version 1 and more.
const PROCESS_INFO: (u16, u16) = (1, 0);

struct Sink<'w> {
    snapshot: Snapshot,
    progress: Arc<Progress>,
    reader: EventReader,
    undecodable: u64,
    watch: &'w mut dyn Watch,
    began: Instant,
    cancelled: bool,
}

impl ObjectSink for Sink<'_> {
    fn object(&mut self, _: ToldObject) -> bool {
        false
    }

    fn reference(&mut self, _: u64) -> bool {
        false
    }
}

impl GraphSink for Sink<'_> {
    fn goes_on(&mut self, bytes: u64) -> bool {
        let stage = Stage {
            slice: Duration::ZERO,
            elapsed: self.began.elapsed(),
            objects: self.progress.objects.load(Ordering::Relaxed),
            bytes,
            silent: Duration::ZERO,
            told: self.progress.complete.load(Ordering::Relaxed),
        };
        self.cancelled |= self.watch.look(&stage) == Going::Stop;
        !self.cancelled
    }

    fn events(&mut self, bytes: &[u8]) -> bool {
        let (snapshot, undecodable) = (&mut self.snapshot, &mut self.undecodable);
        let see = |told: ToldEvent<'_>| {
            // What the session says of the process, in an event of another provider.
            if (told.id, told.version) == PROCESS_INFO {
                return;
            }
            let payload = PayloadReader::new(told.payload, PointerSize::Eight);
            let version = EventVersion(told.version.into());
            match decode_numbered(told.id >= RUNDOWN, told.id.into(), version, payload) {
                Ok(Some(event)) => snapshot.see(told.at_ns, &event),
                Ok(None) => {}
                Err(_) => *undecodable += 1,
            }
        };
        self.reader.read(bytes, see).is_ok()
    }
}

/// Takes the heap by events. `why` says why a better way was not gone.
pub(crate) fn events(
    process: &DotnetProcess,
    wish: &Wish,
    watch: &mut dyn Watch,
    attached: &mut Attached,
    why: Option<String>,
) -> Result<Unfinished, Declined> {
    let order = GraphOrder {
        way: GraphWay::Events,
        longest: longest(wish),
        look: Duration::ZERO,
        most_bytes: most_bytes(process),
    };
    let progress = Arc::new(Progress::default());
    let mut sink = Sink {
        snapshot: Snapshot::new(Arc::clone(&progress)),
        progress,
        reader: EventReader::default(),
        undecodable: 0,
        watch,
        began: Instant::now(),
        cancelled: false,
    };
    let told = attached.heap_graph(&order, &mut sink, |_| ());
    let Sink { snapshot, reader, undecodable, cancelled, .. } = sink;
    let told = told.map_err(|error| declined(process, error, cancelled, &order))?;
    let mut missing = snapshot.missing();
    missing.undecodable = undecodable;
    missing.events = told.end.objects.abs_diff(reader.events) + u64::from(!reader.is_whole());
    if !snapshot.has_objects() && missing.events == 0 {
        return Err(Declined::Because(Error::NoHeap.to_string()));
    }
    if !missing.is_nothing() {
        return Err(Declined::Because(Error::Incomplete(missing).to_string()));
    }
    let files = ProcessFiles::of(Process::new(process.pid));
    Ok(Box::new(move || {
        let (pause, handles) = (snapshot.pause(), snapshot.handles());
        let (graph, unnamed_types) = snapshot.graph(&files).map_err(incomplete)?;
        let mut missing = lacks(&graph);
        missing.extend(why.map(|why| format!("it was not walked, the better way: {why}")));
        Ok(Taken {
            graph,
            handles,
            way: Way::AgentEvents,
            pause,
            collections: told.end.collections,
            garbage: false,
            missing,
            bytes: told.bytes,
            elapsed: Duration::ZERO,
            unnamed_types,
        })
    }))
}
