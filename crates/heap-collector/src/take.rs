//! The heap of a process by the way that costs it least.

use std::collections::HashMap;
use std::time::Duration;

use discovery::DotnetProcess;
use heap_graph::{HeapGraph, TypeId};
use process_view::Process;

use crate::by_agent::{Declined, by_agent};
use crate::collect::{Options, Watch, collect};
use crate::collected::{Collected, Pause};
use crate::error::Error;
use crate::estimate::{HeapSize, estimated_pause, heap_size};
use crate::files::ProcessFiles;
use crate::room::{memory_limit, spare_room};

/// A pause that may be longer than this needs a word of the user's.
pub const LONGEST_UNASKED: Duration = Duration::from_secs(1);
/// Memory that the target must have left below its limit, for events that wait in it.
const NEEDED_FOR_EVENTS: u64 = 64 << 20;

/// What is wished of a heap, and what it may cost.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Whether the process may stand still for longer than [`LONGEST_UNASKED`].
    pub allow_pause: bool,
    /// Whether garbage is collected first.
    pub collect: Collect,
    /// The target is given up when it sends nothing for so long.
    pub patience: Duration,
}

impl Default for Wish {
    fn default() -> Wish {
        Wish { allow_pause: false, collect: Collect::WhenNeeded, patience: Options::default().patience }
    }
}

/// Whether a full collection is made before the heap is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collect {
    /// Only where the heap cannot be told without one.
    WhenNeeded,
    /// Always, so that no garbage is told.
    Always,
}

/// How a heap was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Heap events over the diagnostics socket, in one full collection that is forced.
    Events,
    /// The same events, received by an agent in the process.
    AgentEvents,
    /// An agent walks the heap, without a collection.
    Walk,
}

impl Way {
    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Way::Events => "heap events over the runtime's diagnostics socket",
            Way::AgentEvents => "heap events, received by an agent in the process",
            Way::Walk => "a walk over the heap by an agent in the process",
        }
    }
}

/// The heap of a process, and what it cost.
#[derive(Debug)]
pub struct Taken {
    /// Its objects.
    pub graph: HeapGraph,
    /// The addresses of the method tables of its types.
    pub handles: HashMap<TypeId, u64>,
    /// How it was taken.
    pub way: Way,
    /// How long the process stood still; none when that is not known.
    pub pause: Option<Pause>,
    /// Full collections that were forced.
    pub collections: u32,
    /// Whether the graph may hold objects that nothing refers to; dominators tell them apart.
    pub garbage: bool,
    /// What the picture lacks, each in a sentence.
    pub missing: Vec<String>,
    /// Bytes that came.
    pub bytes: u64,
    /// From the first request to the last byte.
    pub elapsed: Duration,
    /// Types whose name did not come.
    pub unnamed_types: u64,
}

/// Takes the heap of a process, by the way that costs it least.
///
/// On 9 and newer an agent walks the heap, without a collection, unless one is wished for; on older ones, and where roots
/// cannot be read from outside, the agent hands on the runtime's events; where no agent can come, they come over the
/// diagnostics socket, with room for them in the process.
pub fn take(process: &DotnetProcess, wish: &Wish, watch: &mut dyn Watch) -> Result<Taken, Error> {
    let why = match by_agent(process, wish, watch) {
        Ok(taken) => return Ok(taken),
        Err(Declined::Finally(error)) => return Err(error),
        Err(Declined::Because(why)) => why,
    };
    let mut taken = take_by_events(process, wish, watch)?;
    taken.missing.push(format!("it was not taken by an agent in the process, the better way: {why}"));
    Ok(taken)
}

/// Refuses what would stop the process too long without a word, or would bring it over its memory limit. The heap's size is
/// looked up where nobody knows it yet.
pub(crate) fn check(
    process: &DotnetProcess,
    wish: &Wish,
    (way, heap): (Way, Option<HeapSize>),
    needed: u64,
) -> Result<(), Error> {
    // Nobody can tell the pause of a process that /proc does not show; it is not refused, for it may be small.
    if !wish.allow_pause
        && let Some(heap) = heap.or_else(|| heap_size(process))
    {
        let estimate = estimated_pause(way, heap);
        if estimate.1 > LONGEST_UNASKED {
            return Err(Error::PauseNotAllowed { estimate, heap: heap.bytes });
        }
    }
    if process.visible
        && let Some(limit) = memory_limit(process.pid.0)
        && limit.left() < needed
    {
        return Err(Error::NoRoom { left: limit.left(), limit: limit.limit, needed });
    }
    Ok(())
}

/// Takes the heap of a process by events over its diagnostics socket: the way that brings nothing into it.
pub fn take_by_events(process: &DotnetProcess, wish: &Wish, watch: &mut dyn Watch) -> Result<Taken, Error> {
    check(process, wish, (Way::Events, None), NEEDED_FOR_EVENTS)?;
    let client = process.client().ok_or(Error::NoSocket)?;
    let options =
        Options { buffer_mb: spare_room(process.pid.0), patience: wish.patience, generations: true };
    let files = ProcessFiles::of(Process::new(process.pid));
    let collected = collect(&client, &options, &files, watch)?;
    Ok(Taken::from(collected))
}

impl From<Collected> for Taken {
    fn from(collected: Collected) -> Taken {
        let missing = lacks(&collected.graph);
        Taken {
            graph: collected.graph,
            handles: collected.handles,
            way: Way::Events,
            pause: collected.pause,
            collections: 1,
            garbage: false,
            missing,
            bytes: collected.bytes,
            elapsed: collected.elapsed,
            unnamed_types: collected.unnamed_types,
        }
    }
}

/// What a graph lacks that was made of the runtime's events.
pub(crate) fn lacks(graph: &HeapGraph) -> Vec<String> {
    let mut missing = vec![
        "handles, local variables and the finalizer queue have no names: the runtime's events give none"
            .to_owned(),
    ];
    if graph.generations().is_empty() {
        missing.push("the runtime did not tell where its generations lie".to_owned());
    }
    missing
}
