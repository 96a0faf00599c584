//! Looks at the heap: by a walk of the agent's where the runtime can (9 and newer), else by a collection whose events tell
//! where every object lies, upon which the agent reads those that matter.

use std::collections::{HashMap, HashSet};

use agent_host::{AgentError, Follow, HeapObjects, HeapTypes, Pick, Plan, Sample};
use event_session::Going;
use heap_collector::{Assemblies, Collected, Options, Stage, Watch, collect};
use heap_graph::TypeId as GraphType;
use task_graph::{
    Address, Forest, Graph, Layout, Look, Object, Objects, Role, Shape, Type, TypeId, Types, role,
    wanted_layouts,
};

use crate::ProfilerError;
use crate::inside::Guest;

/// How often the heap is collected anew when its objects have moved meanwhile.
const TRIES: usize = 3;
/// One of so many may have moved before a look is thrown away.
const TOLERATED: usize = 20;
/// How many objects of a type are tried.
const OF_EACH: usize = 4;
/// Most objects that the agent can be sent to.
const MOST_SAMPLES: usize = 60_000;

/// What is known of the heap of a process.
pub(super) struct Heap {
    pub(super) types: Types,
    /// What to read; none if tasks are not laid out as we know them.
    look: Option<Look>,
    /// Where the objects are that matter, on a runtime that does not walk.
    samples: Option<Vec<Sample>>,
    /// How often the runtime had to collect for it.
    pub(super) collections: u32,
    /// Objects that had moved before they could be read.
    pub(super) moved: u32,
}

/// One look.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) graph: Graph,
    pub(super) forest: Forest,
    pub(super) shapes: Vec<Shape>,
}

/// Why there is no look.
pub(super) enum Failed {
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
/// An error of the collection as one of the profiler.
pub(super) fn explain(error: heap_collector::Error) -> ProfilerError {
    match error {
        heap_collector::Error::Ipc(error) => error.into(),
        heap_collector::Error::TargetExited => ProfilerError::TargetEnded,
        other => ProfilerError::Heap(other),
    }
}

impl Heap {
    /// Learns the types. With `sweep`, and where the runtime cannot walk its heap, by a collection.
    pub(super) fn open(guest: &mut Guest<'_>, sweep: bool) -> Result<Heap, Failed> {
        let mut heap = Heap { types: Types::default(), look: None, samples: None, collections: 0, moved: 0 };
        if guest.walks_heap() && !sweep {
            let told = guest.ask(|agent| agent.heap_types(Vec::new()), about_types)?;
            heap.learn(guest, told)?;
            return Ok(heap);
        }
        heap.collect(guest)?;
        Ok(heap)
    }

    fn learn(&mut self, guest: &mut Guest<'_>, told: HeapTypes) -> Result<(), AgentError> {
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
            self.types.add(TypeId(found.id), described);
        }
        let wanted: Vec<u64> = wanted_layouts(&self.types).into_iter().map(|id| id.0).collect();
        for layout in guest.ask_running(|agent| agent.layouts(&wanted))? {
            let fields = layout.fields.into_iter().map(|field| (field.offset, field.name)).collect();
            self.types.add_layout(TypeId(layout.id), Layout { fields, move_next: layout.move_next });
        }
        self.look = Look::plan(&self.types);
        Ok(())
    }

    /// Finds the objects by a collection; again if they have moved before the agent saw their types.
    fn collect(&mut self, guest: &mut Guest<'_>) -> Result<(), Failed> {
        for attempt in 1..=TRIES {
            let collected = collect_heap(guest)?;
            self.collections += 1;
            guest.stood_still(collected.pause.map_or_else(Default::default, |pause| pause.total));
            if !boxes(&collected).any(|_| true) {
                // No async method is pending, and nothing has to be read.
                self.samples = Some(Vec::new());
                break;
            }
            // A live object of each type proves that the type is there.
            let samples = some_of_each(&collected);
            let told = guest.ask(|agent| agent.heap_types(samples), |told| (told.pause, 0))?;
            self.learn(guest, told)?;
            let known = boxes(&collected).filter(|id| self.types.get(*id).is_some()).count();
            if known == boxes(&collected).count() || attempt == TRIES {
                let wanted = self.look.iter().flat_map(|look| &look.picks).filter(|pick| pick.all);
                let wanted: HashSet<u64> = wanted.map(|pick| pick.id.0).collect();
                self.samples = Some(samples_of(&collected, &wanted));
                break;
            }
        }
        Ok(())
    }

    /// Whether tasks are laid out as we know them.
    pub(super) fn is_understood(&self) -> bool {
        self.look.is_some() || self.samples.as_ref().is_some_and(Vec::is_empty)
    }

    /// Looks. Objects that have moved since the collection are looked for anew, a few times.
    pub(super) fn look(&mut self, guest: &mut Guest<'_>) -> Result<Taken, Failed> {
        for _ in 1..TRIES {
            let taken = self.read(guest)?;
            let count = self.samples.as_ref().map_or(0, Vec::len);
            if usize::try_from(self.moved).unwrap_or(usize::MAX) * TOLERATED <= count {
                return Ok(taken);
            }
            self.collect(guest)?;
        }
        Ok(self.read(guest)?)
    }

    /// Reads what matters, all at one instant.
    fn read(&mut self, guest: &mut Guest<'_>) -> Result<Taken, AgentError> {
        self.moved = 0;
        let answer = match self.objects(guest)? {
            // Only now it is known what arrays look like.
            Some(answer) if self.learn_arrays(&answer) => self.objects(guest)?,
            answer => answer,
        };
        let Some(answer) = answer else { return Ok(Taken::default()) };
        self.moved = if self.samples.is_some() { answer.left_out } else { 0 };
        Ok(Taken::of(&self.types, answer))
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

    /// .NET Core 3.1 tells arrays by something else than their method table. What a list of objects keeps its elements in is
    /// an array of objects, whatever it is called. Whether there was one that is new.
    fn learn_arrays(&mut self, answer: &HeapObjects) -> bool {
        let object = self.types.iter().find(|(_, described)| described.name == "System.Object");
        let Some((object, _)) = object.filter(|_| self.samples.is_some()) else { return false };
        let by_address: HashMap<u64, u64> =
            answer.objects.iter().map(|object| (object.address, object.class)).collect();
        let arrays = answer.objects.iter().filter_map(|list| match role(&self.types, TypeId(list.class)) {
            Some(Role::List(at)) => {
                let items = list.bytes.get(at..)?.first_chunk()?;
                by_address.get(&u64::from_le_bytes(*items)).copied().map(TypeId)
            }
            _ => None,
        });
        let new: HashSet<TypeId> = arrays.filter(|id| self.types.get(*id).is_none()).collect();
        for id in &new {
            let array = Type { rank: 1, arguments: vec![object], count: 1, ..Type::default() };
            self.types.add(*id, array);
        }
        if !new.is_empty() {
            self.look = Look::plan(&self.types);
        }
        !new.is_empty()
    }
}

impl Taken {
    fn of(types: &Types, answer: HeapObjects) -> Taken {
        let mut objects = Objects::default();
        for object in answer.objects {
            objects.add(Address(object.address), Object { id: TypeId(object.class), bytes: object.bytes });
        }
        let graph = Graph::of(types, &objects).unwrap_or_default();
        let forest = Forest::of(&graph);
        let shapes = forest.shapes(&graph);
        Taken { shapes, forest, graph }
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
    let options = Options { buffer_mb: heap_collector::spare_room(target.pid.0), ..Options::default() };
    collect(&client, &options, &NoAssemblies, &mut Patient)
}

/// The types of boxes.
fn boxes(collected: &Collected) -> impl Iterator<Item = TypeId> {
    let is_box = |id: &GraphType| collected.graph.type_info(*id).name.contains("StateMachineBox<");
    collected.handles.iter().filter(move |(id, _)| is_box(id)).map(|(_, handle)| TypeId(*handle))
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
    graph.nodes().filter_map(sample).take(MOST_SAMPLES).collect()
}
