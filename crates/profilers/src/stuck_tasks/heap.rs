//! Looks at the tasks of a heap.

use std::collections::{HashMap, HashSet};

use agent_host::HeapObjects;
use task_graph::{
    Address, Forest, Graph, Look, Object, Objects, Role, Shape, Type, TypeId, Types, role, wanted_layouts,
};

use crate::inside::Guest;
use crate::inside::objects::{Failed, ObjectReader, Wish};

/// What tells who awaits whom.
pub(super) struct Awaits;

/// What is known of the heap of a process.
pub(super) type Heap = ObjectReader<Awaits>;

/// One look.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) graph: Graph,
    pub(super) forest: Forest,
    pub(super) shapes: Vec<Shape>,
}

impl Wish for Awaits {
    fn begins_with(&self, name: &str) -> bool {
        name.contains("StateMachineBox<")
    }

    fn layouts(&self, types: &Types) -> Vec<TypeId> {
        wanted_layouts(types)
    }

    fn plan(&self, types: &Types) -> Option<Look> {
        Look::plan(types)
    }

    /// .NET Core 3.1 tells arrays by something else than their method table. What a list of objects keeps its elements in is
    /// an array of objects, whatever it is called.
    fn learn(&self, types: &mut Types, answer: &HeapObjects) -> bool {
        let object = types.iter().find(|(_, described)| described.name == "System.Object").map(|(id, _)| id);
        let Some(object) = object else { return false };
        let by_address: HashMap<u64, u64> =
            answer.objects.iter().map(|object| (object.address, object.class)).collect();
        let arrays = answer.objects.iter().filter_map(|list| match role(types, TypeId(list.class)) {
            Some(Role::List(at)) => {
                let items = list.bytes.get(at..)?.first_chunk()?;
                by_address.get(&u64::from_le_bytes(*items)).copied().map(TypeId)
            }
            _ => None,
        });
        let new: HashSet<TypeId> = arrays.filter(|id| types.get(*id).is_none()).collect();
        for id in &new {
            types.add(*id, Type { rank: 1, arguments: vec![object], count: 1, ..Type::default() });
        }
        !new.is_empty()
    }
}

/// Looks. Objects that have moved since the collection are looked for anew, a few times.
pub(super) fn look(heap: &mut Heap, guest: &mut Guest<'_>) -> Result<Taken, Failed> {
    let answer = heap.read(guest)?;
    Ok(answer.map_or_else(Taken::default, |answer| Taken::of(&heap.types, answer)))
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
