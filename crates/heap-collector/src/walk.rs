//! The heap by a walk of the agent's, with the roots read from outside meanwhile.

use std::time::{Duration, Instant};

use agent_host::{Attached, GraphOrder, GraphSink, GraphWay, HeapTold, ObjectSink, ToldObject};
use discovery::DotnetProcess;
use event_session::Going;
use gc_memory::{Frame, GcMemory, RawRoots, ThreadFrames};
use heap_graph::{Address, GraphBuilder, HeapGraph};

use crate::by_agent::{Declined, Unfinished, declined, longest, most_bytes};
use crate::collect::{Stage, Watch};
use crate::collected::Pause;
use crate::error::Error;
use crate::snapshot::occupied;
use crate::take::{Taken, Way, Wish};
use crate::told_types::name_types;

/// How long the process is held, when its objects are told, until its roots are read.
const ROOTS: Duration = Duration::from_millis(250);
const ROOTS_ALLOWED: Duration = Duration::from_secs(3);

/// A heap that is told, but has no names yet.
struct Walked {
    builder: GraphBuilder,
    told: HeapTold<RawRoots>,
    memory: GcMemory,
}

struct Sink<'w> {
    builder: GraphBuilder,
    failed: Option<heap_graph::Error>,
    watch: &'w mut dyn Watch,
    began: Instant,
    objects: u64,
    cancelled: bool,
}

impl ObjectSink for Sink<'_> {
    #[inline]
    fn object(&mut self, object: ToldObject) -> bool {
        let its_type = self.builder.type_of_handle(object.class);
        let references = u32::try_from(object.references).unwrap_or(u32::MAX);
        self.objects += 1;
        match self.builder.object(Address(object.address), its_type, occupied(object.size), references) {
            Ok(_) => true,
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }

    #[inline]
    fn reference(&mut self, target: u64) -> bool {
        match self.builder.reference(Address(target)) {
            Ok(()) => true,
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }
}

impl GraphSink for Sink<'_> {
    fn goes_on(&mut self, bytes: u64) -> bool {
        let stage = Stage {
            slice: Duration::ZERO,
            elapsed: self.began.elapsed(),
            objects: self.objects,
            bytes,
            silent: Duration::ZERO,
            told: false,
        };
        self.cancelled |= self.watch.look(&stage) == Going::Stop;
        !self.cancelled
    }
}

/// Takes the heap by a walk.
pub(crate) fn walk(
    process: &DotnetProcess,
    wish: &Wish,
    watch: &mut dyn Watch,
    attached: &mut Attached,
    mut memory: GcMemory,
) -> Result<Unfinished, Declined> {
    let order = GraphOrder {
        way: GraphWay::Walk,
        longest: longest(wish),
        look: if wish.allow_pause { ROOTS_ALLOWED } else { ROOTS },
        most_bytes: most_bytes(process),
    };
    let mut sink = Sink {
        builder: GraphBuilder::new(),
        failed: None,
        watch,
        began: Instant::now(),
        objects: 0,
        cancelled: false,
    };
    let told = attached.heap_graph(&order, &mut sink, |threads| {
        let frames: Vec<ThreadFrames> = threads
            .iter()
            .map(|thread| ThreadFrames {
                os_id: thread.os,
                frames: thread
                    .frames
                    .iter()
                    .filter(|frame| frame.stack_pointer != 0)
                    .map(|frame| Frame { ip: frame.address, sp: frame.stack_pointer })
                    .collect(),
            })
            .collect();
        memory.read_roots(&frames)
    });
    let Sink { builder, failed, cancelled, .. } = sink;
    if let Some(error) = failed {
        return Err(Declined::Finally(error.into()));
    }
    let told = told.map_err(|error| declined(process, error, cancelled, &order))?;
    if !told.end.looked {
        let why = format!("its roots could not be read within {:?} in which it stood still", order.look);
        return Err(Declined::Because(why));
    }
    let walked = Walked { builder, told, memory };
    Ok(Box::new(move || walked.finish()))
}

impl Walked {
    /// Gives types and roots their names.
    fn finish(self) -> Result<Taken, Error> {
        let Walked { mut builder, mut told, mut memory } = self;
        name_types(&told.types, &mut builder);
        let mut missing = Vec::new();
        if let Some(raw) = told.looked.take() {
            missing = memory.tell(&raw, &mut builder)?.missing;
        }
        if told.left_out > 0 {
            missing.push(format!("{} threads or types did not fit and have no names", told.left_out));
        }
        let handles = builder.handles().map(|(handle, id)| (id, handle)).collect();
        let graph = builder.finish()?;
        let unnamed_types = unnamed(&graph);
        let pause = told.pause;
        Ok(Taken {
            graph,
            handles,
            way: Way::Walk,
            pause: Some(Pause {
                total: pause.suspending + pause.suspended,
                collecting: pause.suspending,
                telling: pause.suspended,
            }),
            collections: told.end.collections,
            garbage: true,
            missing,
            bytes: told.bytes,
            elapsed: Duration::ZERO,
            unnamed_types,
        })
    }
}

/// Types with objects and without a name.
fn unnamed(graph: &HeapGraph) -> u64 {
    let mut used = vec![false; graph.types().len()];
    graph.nodes().for_each(|node| used[graph.type_of(node).index()] = true);
    graph.types().filter(|(id, info)| used[id.index()] && info.name.starts_with("Type(0x")).count() as u64
}
