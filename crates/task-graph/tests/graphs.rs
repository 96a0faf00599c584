//! Who awaits whom, in heaps made by hand and in heaps of any bytes.

use proptest::prelude::*;
use task_graph::{
    Address, COMPLETED, Forest, Graph, Layout, Leaf, Look, Object, Objects, Step, Type, TypeId, Types,
    compare, wanted_layouts,
};

const OBJECT: TypeId = TypeId(0x10);
const VALUE: TypeId = TypeId(0x18);
const TASK: TypeId = TypeId(0x20);
const TASK_OF: TypeId = TypeId(0x28);
const MACHINE: TypeId = TypeId(0x30);
const BOX: TypeId = TypeId(0x38);
const OTHER_MACHINE: TypeId = TypeId(0x40);
const OTHER_BOX: TypeId = TypeId(0x48);
const DELAY: TypeId = TypeId(0x50);
const LIST: TypeId = TypeId(0x58);
const ARRAY: TypeId = TypeId(0x60);
const BLOCKED: TypeId = TypeId(0x68);
const SEMAPHORE: TypeId = TypeId(0x70);
const NODE: TypeId = TypeId(0x78);
const ACTION: TypeId = TypeId(0x80);
const WHEN_ALL: TypeId = TypeId(0x88);

const CONTINUATION: usize = 32;
const FLAGS: usize = 52;
const IN_BOX: usize = 64;

fn types() -> Types {
    let mut types = Types::default();
    let boxed = "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1";
    for (id, name, parent, arguments) in [
        (OBJECT, "System.Object", TypeId(0), vec![]),
        (VALUE, "System.ValueType", OBJECT, vec![]),
        (TASK, "System.Threading.Tasks.Task", OBJECT, vec![]),
        (TASK_OF, "System.Threading.Tasks.Task`1", TASK, vec![OBJECT]),
        (MACHINE, "Shop.Orders+<RunAsync>d__1", VALUE, vec![]),
        (BOX, boxed, TASK_OF, vec![OBJECT, MACHINE]),
        (OTHER_MACHINE, "Shop.Orders+<ItemsAsync>d__2", OBJECT, vec![]),
        (OTHER_BOX, boxed, TASK_OF, vec![OBJECT, OTHER_MACHINE]),
        (DELAY, "System.Threading.Tasks.Task+DelayPromise", TASK, vec![]),
        (LIST, "System.Collections.Generic.List`1", OBJECT, vec![OBJECT]),
        (BLOCKED, "System.Threading.Tasks.Task+SetOnInvokeMres", OBJECT, vec![]),
        (SEMAPHORE, "System.Threading.SemaphoreSlim", OBJECT, vec![]),
        (NODE, "System.Threading.SemaphoreSlim+TaskNode", TASK, vec![]),
        (ACTION, "System.Delegate", OBJECT, vec![]),
        (WHEN_ALL, "System.Threading.Tasks.Task+WhenAllPromise", TASK, vec![]),
    ] {
        types.add(id, Type { name: name.into(), parent, arguments, count: 1, ..Type::default() });
    }
    types.add(ARRAY, Type { rank: 1, arguments: vec![OBJECT], parent: OBJECT, count: 1, ..Type::default() });
    for (id, fields) in [
        (TASK, vec![(8, "m_action"), (32, "m_continuationObject"), (48, "m_taskId"), (52, "m_stateFlags")]),
        (BOX, vec![(64, "StateMachine")]),
        (OTHER_BOX, vec![(64, "StateMachine")]),
        (MACHINE, vec![(0, "<>u__1"), (8, "<>u__2"), (16, "<>1__state"), (20, "order")]),
        (OTHER_MACHINE, vec![(8, "<>u__1"), (16, "<>1__state")]),
        (LIST, vec![(8, "_items"), (16, "_size")]),
        (
            SEMAPHORE,
            vec![(8, "m_asyncHead"), (24, "m_currentCount"), (28, "m_maxCount"), (32, "m_waitCount")],
        ),
        (NODE, vec![(64, "Next")]),
        (ACTION, vec![(8, "_target")]),
    ] {
        let fields = fields.into_iter().map(|(offset, name)| (offset, name.to_owned())).collect();
        types.add_layout(id, Layout { fields, move_next: 0x0600_0001 });
    }
    types
}

/// An object with words at offsets.
fn object(id: TypeId, size: usize, words: &[(usize, u64)]) -> Object {
    let mut bytes = vec![0; size];
    bytes[..8].copy_from_slice(&id.0.to_le_bytes());
    for (offset, word) in words {
        let end = (offset + 8).min(size);
        bytes[*offset..end].copy_from_slice(&word.to_le_bytes()[..end - offset]);
    }
    Object { id, bytes }
}

/// An `async` method at its await `state` that awaits what lies at an address.
fn method(awaited: u64, after: u64, state: u32, order: u32) -> Object {
    let tail = u64::from(state) | u64::from(order) << 32;
    object(BOX, 96, &[(CONTINUATION, after), (IN_BOX, awaited), (IN_BOX + 16, tail)])
}

fn heap(objects: impl IntoIterator<Item = (u64, Object)>) -> Graph {
    let mut found = Objects::default();
    objects.into_iter().for_each(|(address, object)| found.add(Address(address), object));
    Graph::of(&types(), &found).expect("tasks are known")
}

fn steps(graph: &Graph) -> Vec<Vec<Step>> {
    Forest::of(graph).shapes(graph).into_iter().map(|shape| shape.steps).collect()
}

fn at(state: u32) -> Step {
    Step::Await { machine: MACHINE, at: Some(state) }
}

#[test]
fn what_is_wanted_follows_from_the_types() {
    let types = types();
    let layouts = wanted_layouts(&types);
    for id in [TASK, BOX, MACHINE, OTHER_MACHINE, LIST, SEMAPHORE, NODE, ACTION] {
        assert!(layouts.contains(&id), "{id:?}");
    }
    let look = Look::plan(&types).expect("a plan");
    let pick = |id| *look.picks.iter().find(|pick| pick.id == id).expect("a pick");
    assert!(pick(BOX).all && pick(BOX).without == (52, COMPLETED));
    assert!(!pick(ARRAY).all && !pick(OTHER_MACHINE).all);
    for reference in
        [(BOX, 32), (BOX, 64), (BOX, 72), (OTHER_BOX, 64), (OTHER_MACHINE, 8), (LIST, 8), (ACTION, 8)]
    {
        assert!(look.follow.contains(&reference), "{reference:?}");
    }
    assert_eq!(look.elements, [ARRAY]);
    assert!(Look::plan(&Types::default()).is_none());
}

#[test]
fn a_chain_is_followed_to_its_end() {
    let graph = heap([
        (0x1000, method(0x2000, 0, 1, 7)),
        (0x2000, method(0x3000, 0x1000, 0, 7)),
        (0x3000, object(TASK_OF, 64, &[(CONTINUATION, 0x2000)])),
    ]);
    assert_eq!(steps(&graph), [vec![at(1), at(0), Step::Leaf(Leaf::Completion)]]);
    assert_eq!(graph.methods(), 2);
}

#[test]
fn equal_chains_are_one_with_a_count() {
    let objects = (0..50u64).flat_map(|number| {
        let (outer, inner, leaf) =
            (0x1_0000 + number * 0x1000, 0x1_0400 + number * 0x1000, 0x1_0800 + number * 0x1000);
        [(outer, method(inner, 0, 0, 1)), (inner, method(leaf, outer, 2, 1)), (leaf, object(DELAY, 64, &[]))]
    });
    let graph = heap(objects);
    let shapes = Forest::of(&graph).shapes(&graph);
    assert_eq!(shapes.len(), 1);
    assert_eq!((shapes[0].waiters.len(), shapes[0].awaited, shapes[0].roots), (50, 50, 50));
    assert_eq!(shapes[0].steps.last(), Some(&Step::Leaf(Leaf::Timer)));
}

#[test]
fn several_continuations_lie_in_a_list() {
    let graph = heap([
        (0x1000, method(0x5000, 0, 0, 1)),
        (0x2000, method(0x5000, 0, 0, 2)),
        (0x5000, object(TASK_OF, 64, &[(CONTINUATION, 0x6000)])),
        (0x6000, object(LIST, 24, &[(8, 0x7000)])),
        (0x7000, object(ARRAY, 48, &[(8, 4), (16, 0x1000), (24, 0x8000), (32, 0x9000)])),
        (0x8000, object(ACTION, 24, &[(8, 0x2000)])),
        (0x9000, object(BLOCKED, 24, &[])),
    ]);
    let shapes = Forest::of(&graph).shapes(&graph);
    assert_eq!((shapes.len(), shapes[0].waiters.len(), shapes[0].awaited), (1, 2, 1));
    assert!(graph.get(Address(0x5000)).is_some_and(|node| node.blocks_thread));
}

#[test]
fn a_task_that_waits_for_others_is_a_step_of_its_own() {
    let graph = heap([
        (0x1000, method(0x2000, 0, 0, 1)),
        (0x2000, object(WHEN_ALL, 64, &[(CONTINUATION, 0x1000)])),
        (0x3000, object(DELAY, 64, &[(CONTINUATION, 0x2000)])),
        (0x4000, object(TASK_OF, 64, &[(CONTINUATION, 0x2000)])),
    ]);
    let mut found = steps(&graph);
    found.sort();
    let all = |leaf| vec![at(0), Step::Task(WHEN_ALL), Step::Leaf(leaf)];
    assert_eq!(found, [all(Leaf::Timer), all(Leaf::Completion)]);
}

#[test]
fn a_state_machine_that_is_a_class_is_followed() {
    let graph = heap([
        // Who consumes an async iterator awaits the state machine itself.
        (0x1000, method(0x3000, 0, 0, 1)),
        (0x2000, object(OTHER_BOX, 72, &[(IN_BOX, 0x3000)])),
        (0x3000, object(OTHER_MACHINE, 24, &[(8, 0x4000), (16, 5)])),
        (0x4000, object(DELAY, 64, &[(CONTINUATION, 0x2000)])),
    ]);
    let iterator = Step::Await { machine: OTHER_MACHINE, at: Some(5) };
    assert_eq!(steps(&graph), [vec![at(0), iterator, Step::Leaf(Leaf::Timer)]]);
}

#[test]
fn semaphores_know_their_waiters() {
    let graph = heap([
        (0x1000, method(0x5000, 0, 0, 1)),
        (0x2000, method(0x6000, 0, 0, 2)),
        (0x5000, object(NODE, 80, &[(CONTINUATION, 0x1000), (64, 0x6000)])),
        (0x6000, object(NODE, 80, &[(CONTINUATION, 0x2000)])),
        (0x7000, object(SEMAPHORE, 48, &[(8, 0x5000), (24, 1 << 32)])),
    ]);
    assert_eq!(steps(&graph), [vec![at(0), Step::Leaf(Leaf::Semaphore)]]);
    let found = &graph.semaphores[0];
    assert_eq!((found.free, found.most, found.waiters.len()), (0, 1, 2));
}

#[test]
fn what_has_ended_is_left_out_and_who_awaited_it_is_about_to_run() {
    let ended = u64::from(COMPLETED) << 32;
    let graph = heap([
        (0x1000, method(0x2000, 0, 0, 1)),
        (0x2000, object(TASK_OF, 64, &[(48, ended)])),
        (0x3000, object(BOX, 96, &[(48, ended), (IN_BOX, 0x2000)])),
    ]);
    assert_eq!(FLAGS, 48 + 4);
    assert_eq!(steps(&graph), [vec![at(0), Step::Leaf(Leaf::Ended)]]);
}

#[test]
fn a_circle_is_found_once_and_ends() {
    let graph = heap([(0x1000, method(0x2000, 0x2000, 0, 1)), (0x2000, method(0x1000, 0x1000, 1, 1))]);
    let forest = Forest::of(&graph);
    assert_eq!(forest.circles, [vec![Address(0x1000), Address(0x2000)]]);
    assert_eq!(forest.shapes(&graph).len(), 1);
}

#[test]
fn what_moved_and_what_did_not() {
    let look = |from: u64, orders: std::ops::Range<u32>| {
        let objects = orders.flat_map(|order| {
            let address = from + u64::from(order) * 0x1000;
            [(address, method(address + 0x800, 0, 0, order)), (address + 0x800, object(TASK_OF, 64, &[]))]
        });
        let graph = heap(objects.collect::<Vec<_>>());
        Forest::of(&graph).shapes(&graph)
    };
    let still = |a: Vec<task_graph::Shape>, b| {
        compare(&a, b).first().map(|change| (change.before, change.now(), change.still))
    };
    assert_eq!(still(look(0x10_0000, 0..20), look(0x10_0000, 0..20)), Some((20, 20, 20)));
    assert_eq!(still(look(0x10_0000, 0..20), look(0x10_0000, 5..25)), Some((20, 20, 15)));
    // A collection has moved them all: they are known by what they hold. Addresses look like addresses.
    let (here, there) = (0x7F00_0010_0000, 0x7F00_0090_0000);
    assert_eq!(still(look(here, 0..20), look(there, 0..20)), Some((20, 20, 20)));
    assert_eq!(still(look(here, 0..20), look(there, 15..40)), Some((20, 25, 5)));
}

proptest! {
    /// Whatever refers to whatever: it ends, counts are sane, every shape ends in one waiter at least.
    #[test]
    fn any_references_make_a_forest(links in prop::collection::vec((0u64..40, 0u64..40, 0usize..6), 0..40)) {
        let place = |number: u64| if number == 0 { 0 } else { 0x1000 * number };
        let objects = links.iter().zip(1u64..).map(|((awaited, after, kind), number)| {
            let (awaited, after) = (place(*awaited), place(*after));
            let object = match kind {
                0 | 1 => method(awaited, after, 0, 1),
                2 => object(OTHER_BOX, 72, &[(CONTINUATION, after), (IN_BOX, awaited)]),
                3 => object(TASK_OF, 64, &[(CONTINUATION, after)]),
                4 => object(ARRAY, 48, &[(8, 2), (16, awaited), (24, after)]),
                _ => object(LIST, 24, &[(8, awaited)]),
            };
            (place(number), object)
        });
        let graph = heap(objects.collect::<Vec<_>>());
        let forest = Forest::of(&graph);
        for shape in forest.shapes(&graph) {
            prop_assert!(!shape.waiters.is_empty() && shape.roots > 0);
            prop_assert!(shape.steps.len() <= 64);
        }
        for (index, place) in forest.places.iter().enumerate() {
            prop_assert!(place.parent.is_none_or(|parent| parent < index));
        }
        let shapes = forest.shapes(&graph);
        for change in compare(&shapes.clone(), shapes) {
            prop_assert_eq!(change.still, change.now());
        }
    }

    /// Any bytes in any object.
    #[test]
    fn any_bytes_are_survived(contents in prop::collection::vec((0u64..20, prop::collection::vec(any::<u8>(), 0..120)), 0..30)) {
        let objects = contents.into_iter().zip(1u64..).map(|((kind, bytes), number)| {
            (number * 8, Object { id: TypeId(0x10 + kind * 8), bytes })
        });
        let graph = heap(objects.collect::<Vec<_>>());
        let _ = Forest::of(&graph).shapes(&graph);
    }
}
