//! Objects of the heap, read at one instant: by a walk of the agent's where the runtime can (9 and newer), else by a
//! collection whose events tell where every object lies, upon which the agent reads those that matter.
//!
//! ```text
//! Wish: whose fields, which objects --> ObjectReader::open: types, layouts --> read: HeapObjects --> the profiler's own graph
//! ```

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use agent_host::{AgentError, Follow, HeapObjects, HeapTypes, Pick, Plan, Sample};
use event_session::Going;
use heap_collector::{Assemblies, Collected, Options, Stage, Watch, collect};
use heap_graph::TypeId as GraphType;
use task_graph::{Layout, Look, Type, TypeId, Types};

use super::Guest;

/// How often the heap is collected anew when its objects have moved meanwhile.
const TRIES: usize = 3;
/// One of so many may have moved before a look is thrown away.
const TOLERATED: usize = 20;
/// How many objects of a type are tried.
const OF_EACH: usize = 4;
/// Most objects that the agent can be sent to.
const MOST_SAMPLES: usize = 60_000;

/// What a profiler wants to read.
pub(crate) trait Wish {
    /// Whether it begins with objects of a type of this name, as heap events write it.
    fn begins_with(&self, name: &str) -> bool;

    /// Whose fields have to be known first.
    fn layouts(&self, types: &Types) -> Vec<TypeId>;

    /// What to read; none if things are not laid out as we know them.
    fn plan(&self, types: &Types) -> Option<Look>;

    /// Learns types from what was read on a runtime that does not walk; whether there was a new one, so that it is read again.
    fn learn(&self, _types: &mut Types, _answer: &HeapObjects) -> bool {
        false
    }
}

/// Reads objects of one process.
pub(crate) struct ObjectReader<W> {
    wish: W,
    pub(crate) types: Types,
    /// What to read; none if things are not laid out as we know them.
    look: Option<Look>,
    /// Where the objects are that matter, on a runtime that does not walk.
    samples: Option<Vec<Sample>>,
    /// Objects that matter but are more than the agent can be sent to.
    pub(crate) unsent: u64,
    /// How often the runtime had to collect for it.
    pub(crate) collections: u32,
    /// Objects that had moved before they could be read.
    pub(crate) moved: u32,
}

/// Why there is nothing to read.
pub(crate) enum Failed {
    Agent(AgentError),
    Heap(heap_collector::Error),
}

impl From<AgentError> for Failed {
    fn from(error: AgentError) -> Self {
        Failed::Agent(error)
    }
}

impl From<heap_collector::Error> for Failed {
    fn from(error: heap_collector::Error) -> Self {
        Failed::Heap(error)
    }
}

/// Sorts a failure so that an agent that answers can still be led out: the collection's error is a value of the visit.
pub(crate) fn sort<T>(outcome: Result<T, Failed>) -> Result<Result<T, heap_collector::Error>, AgentError> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(Failed::Agent(error)) => Err(error),
        Err(Failed::Heap(error)) => Ok(Err(error)),
    }
}

impl<W: Wish> ObjectReader<W> {
    /// Learns the types. With `sweep`, and where the runtime cannot walk its heap, by a collection.
    pub(crate) fn open(guest: &mut Guest<'_>, wish: W, sweep: bool) -> Result<Self, Failed> {
        let mut reader = ObjectReader {
            wish,
            types: Types::default(),
            look: None,
            samples: None,
            unsent: 0,
            collections: 0,
            moved: 0,
        };
        if guest.walks_heap() && !sweep {
            let told = guest.ask(|agent| agent.heap_types(Vec::new()), about_types)?;
            reader.learn(guest, told)?;
            return Ok(reader);
        }
        reader.collect(guest)?;
        Ok(reader)
    }

    fn learn(&mut self, guest: &mut Guest<'_>, told: HeapTypes) -> Result<(), AgentError> {
        add_types(&mut self.types, told);
        let wanted: Vec<u64> = self.wish.layouts(&self.types).into_iter().map(|id| id.0).collect();
        for layout in guest.ask_running(|agent| agent.layouts(&wanted))? {
            let fields = layout.fields.into_iter().map(|field| (field.offset, field.name)).collect();
            self.types.add_layout(TypeId(layout.id), Layout { fields, move_next: layout.move_next });
        }
        self.look = self.wish.plan(&self.types);
        Ok(())
    }

    /// Finds the objects by a collection; again if they have moved before the agent saw their types.
    fn collect(&mut self, guest: &mut Guest<'_>) -> Result<(), Failed> {
        for attempt in 1..=TRIES {
            let collected = collect_heap(guest)?;
            self.collections += 1;
            guest.stood_still(collected.pause.map_or_else(Default::default, |pause| pause.total));
            let begins = self.beginnings(&collected);
            if begins.is_empty() {
                // There is none, and nothing has to be read.
                self.samples = Some(Vec::new());
                break;
            }
            // A live object of each type proves that the type is there.
            let samples = some_of_each(&collected);
            let told = guest.ask(|agent| agent.heap_types(samples), |told| (told.pause, 0))?;
            self.learn(guest, told)?;
            let known = begins.iter().all(|id| self.types.get(*id).is_some());
            if known || attempt == TRIES {
                let wanted = self.look.iter().flat_map(|look| &look.picks).filter(|pick| pick.all);
                let wanted: HashSet<u64> = wanted.map(|pick| pick.id.0).collect();
                let mut samples = samples_of(&collected, &wanted);
                self.unsent = samples.len().saturating_sub(MOST_SAMPLES) as u64;
                samples.truncate(MOST_SAMPLES);
                self.samples = Some(samples);
                break;
            }
        }
        Ok(())
    }

    /// The types that it begins with.
    fn beginnings(&self, collected: &Collected) -> Vec<TypeId> {
        let begins = |id: &GraphType| self.wish.begins_with(&collected.graph.type_info(*id).name);
        let handles = collected.handles.iter();
        handles.filter(|(id, _)| begins(id)).map(|(_, handle)| TypeId(*handle)).collect()
    }

    /// Whether things are laid out as we know them, or there are none.
    pub(crate) fn is_understood(&self) -> bool {
        self.look.is_some() || self.samples.as_ref().is_some_and(Vec::is_empty)
    }

    /// Reads. Objects that have moved since the collection are looked for anew, a few times. `None` if there is nothing.
    pub(crate) fn read(&mut self, guest: &mut Guest<'_>) -> Result<Option<HeapObjects>, Failed> {
        for _ in 1..TRIES {
            let answer = self.read_once(guest)?;
            let count = self.samples.as_ref().map_or(0, Vec::len);
            if usize::try_from(self.moved).unwrap_or(usize::MAX) * TOLERATED <= count {
                return Ok(answer);
            }
            self.collect(guest)?;
        }
        Ok(self.read_once(guest)?)
    }

    /// Reads what is there now: on a runtime that does not walk by another collection, so that new objects are seen.
    pub(crate) fn read_anew(&mut self, guest: &mut Guest<'_>) -> Result<Option<HeapObjects>, Failed> {
        if self.samples.is_some() {
            self.collect(guest)?;
        }
        self.read(guest)
    }

    /// Reads what matters, all at one instant.
    fn read_once(&mut self, guest: &mut Guest<'_>) -> Result<Option<HeapObjects>, AgentError> {
        self.moved = 0;
        let mut answer = self.objects(guest)?;
        if self.samples.is_some()
            && let Some(first) = &answer
            && self.wish.learn(&mut self.types, first)
        {
            self.look = self.wish.plan(&self.types);
            answer = self.objects(guest)?;
        }
        if let Some(answer) = answer.as_ref().filter(|_| self.samples.is_some()) {
            self.moved = answer.left_out;
        }
        Ok(answer)
    }

    fn objects(&self, guest: &mut Guest<'_>) -> Result<Option<HeapObjects>, AgentError> {
        let Some(look) = &self.look else { return Ok(None) };
        let samples = self.samples.clone().unwrap_or_default();
        if self.samples.is_some() && samples.is_empty() {
            return Ok(None);
        }
        let sampled = !samples.is_empty();
        let plan = plan(look, samples);
        let about = |answer: &HeapObjects| (answer.pause, if sampled { 0 } else { answer.left_out });
        guest.ask(|agent| agent.objects(plan), about).map(Some)
    }
}

fn about_types(told: &HeapTypes) -> (agent_host::Pause, u32) {
    (told.pause, told.left_out)
}

fn plan(look: &Look, samples: Vec<Sample>) -> Plan {
    let pick = |pick: &task_graph::Pick| Pick {
        class: pick.id.0,
        bytes: pick.bytes,
        all: pick.all,
        without: pick.without,
    };
    Plan {
        samples,
        picks: look.picks.iter().map(pick).collect(),
        follow: look.follow.iter().map(|(id, offset)| Follow { class: id.0, offset: *offset }).collect(),
        elements: look.elements.iter().map(|id| id.0).collect(),
    }
}

/// A collection that says nothing for so long will not be told: what asks here is to answer soon.
const PATIENCE: Duration = Duration::from_secs(15);

/// A collection of which nobody hears.
struct Patient;

impl Watch for Patient {
    fn look(&mut self, stage: &Stage) -> Going {
        std::thread::sleep(stage.slice);
        Going::On
    }
}

/// Names of static fields are not needed.
struct NoAssemblies;

impl Assemblies for NoAssemblies {
    fn bytes(&self, _: &str) -> Option<Vec<u8>> {
        None
    }
}

fn collect_heap(guest: &Guest<'_>) -> Result<Collected, heap_collector::Error> {
    let target = guest.target();
    let client = target.client().ok_or(heap_collector::Error::NoHeap)?;
    let buffer_mb = heap_collector::spare_room(target.pid.0);
    let options = Options { buffer_mb, patience: PATIENCE, ..Options::default() };
    collect(&client, &options, &NoAssemblies, &mut Patient)
}

/// The first and the last objects of each type: one of them is likely to be still where it was.
fn some_of_each(collected: &Collected) -> Vec<Sample> {
    let mut found: HashMap<GraphType, [Option<Sample>; OF_EACH]> = HashMap::new();
    let graph = &collected.graph;
    for node in graph.nodes() {
        let its_type = graph.type_of(node);
        if let Some(class) = collected.handles.get(&its_type) {
            let kept = found.entry(its_type).or_default();
            let at = kept.iter().position(Option::is_none).unwrap_or(OF_EACH - 1);
            kept[at] = Some(Sample { address: graph.address(node).0, class: *class });
        }
    }
    found.into_values().flatten().flatten().take(MOST_SAMPLES).collect()
}

/// All objects of these types.
fn samples_of(collected: &Collected, wanted: &HashSet<u64>) -> Vec<Sample> {
    let graph = &collected.graph;
    let sample = |node| {
        let class = *collected.handles.get(&graph.type_of(node))?;
        wanted.contains(&class).then(|| Sample { address: graph.address(node).0, class })
    };
    graph.nodes().filter_map(sample).collect()
}

/// Adds the types that the agent told.
pub(crate) fn add_types(types: &mut Types, told: HeapTypes) {
    for found in told.types {
        let described = Type {
            name: found.name,
            module: found.module,
            token: found.token,
            parent: TypeId(found.parent),
            arguments: found.arguments.into_iter().map(TypeId).collect(),
            rank: found.rank,
            count: found.count,
        };
        types.add(TypeId(found.id), described);
    }
}
