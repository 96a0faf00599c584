//! Who waits for whom: every pending operation, and what it waits for.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::leaf::Leaf;
use crate::objects::{Address, Object, Objects};
use crate::roles::{BoxLayout, Role, TaskLayout, role};
use crate::state::COMPLETED;
use crate::types::{TypeId, Types};

/// Continuations refer to each other a few deep.
const DEEPEST: usize = 8;
/// Where the elements of an array begin.
const ELEMENTS: usize = 16;

/// One thing that has not ended, or that somebody waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Where it lies.
    pub address: Address,
    /// What it is.
    pub step: Step,
    /// What it waits for.
    pub waits_for: Vec<Address>,
    /// A thread blocks until it ends.
    pub blocks_thread: bool,
    /// Somebody other than an operation that we know goes on after it: a delegate of this type's.
    pub called_back: Option<TypeId>,
    /// Of an `async` method's other fields, what stays the same when the object moves.
    pub fingerprint: u64,
}

/// What a node is; nodes with equal steps are of one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// An `async` method at one of its awaits.
    Await {
        /// The state machine's type.
        machine: TypeId,
        /// The number of the await, from 0; none when it is at none: it runs, or has not begun.
        at: Option<u32>,
    },
    /// A task that ends when others do: `Task.WhenAll` and the like.
    Task(TypeId),
    /// What nobody knows to wait for anything.
    Leaf(Leaf),
}

/// All pending operations of one instant.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: BTreeMap<Address, Node>,
    /// Those that others wait for.
    awaited: HashSet<Address>,
    /// Semaphores with somebody waiting.
    pub semaphores: Vec<Semaphore>,
}

/// A `SemaphoreSlim` with waiters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Semaphore {
    /// Where it lies.
    pub address: Address,
    /// How many may enter now.
    pub free: i32,
    /// How many may be in it; `i32::MAX` if nobody said.
    pub most: i32,
    /// Who waits with `WaitAsync`, in order.
    pub waiters: Vec<Address>,
}

impl Graph {
    /// Links the objects that were read by a [`crate::Look`]. None if tasks are not laid out as we know them.
    #[must_use]
    pub fn of(types: &Types, objects: &Objects) -> Option<Graph> {
        let mut builder = Builder {
            types,
            objects,
            task: TaskLayout::of(types)?,
            roles: HashMap::new(),
            machines: HashMap::new(),
            graph: Graph::default(),
        };
        builder.find_roles();
        builder.add_pending();
        builder.link();
        builder.semaphores();
        Some(builder.graph)
    }

    /// A node.
    #[must_use]
    pub fn get(&self, address: Address) -> Option<&Node> {
        self.nodes.get(&address)
    }

    /// All nodes, by address.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// Operations that no other one waits for: where trees begin.
    pub fn roots(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values().filter(|node| !self.awaited.contains(&node.address))
    }

    /// From each operation to those that wait for it: the way outwards, from a method to who awaits it.
    #[must_use]
    pub fn waiters(&self) -> HashMap<Address, Vec<Address>> {
        let mut found: HashMap<Address, Vec<Address>> = HashMap::new();
        for node in self.nodes.values() {
            for awaited in &node.waits_for {
                found.entry(*awaited).or_default().push(node.address);
            }
        }
        found
    }

    /// How many `async` methods are pending.
    #[must_use]
    pub fn methods(&self) -> usize {
        self.nodes.values().filter(|node| matches!(node.step, Step::Await { .. })).count()
    }
}

struct Builder<'a> {
    types: &'a Types,
    objects: &'a Objects,
    task: TaskLayout,
    roles: HashMap<TypeId, Option<Role>>,
    /// From a state machine that is a class to its box.
    machines: HashMap<Address, Address>,
    graph: Graph,
}

impl Builder<'_> {
    fn find_roles(&mut self) {
        for (_, object) in self.objects.iter() {
            self.roles.entry(object.id).or_insert_with(|| role(self.types, object.id));
        }
        for (address, object) in self.objects.iter() {
            if let Some(Some(Role::Box(layout))) = self.roles.get(&object.id)
                && layout.is_reference
                && let Some(machine) = object.reference(layout.at)
            {
                self.machines.insert(machine, address);
            }
        }
    }

    fn role(&self, id: TypeId) -> Option<&Role> {
        self.roles.get(&id)?.as_ref()
    }

    fn is_pending(&self, object: &Object) -> bool {
        object.bits(self.task.flags).is_some_and(|flags| flags & COMPLETED == 0)
    }

    /// Every box and task that has not ended.
    fn add_pending(&mut self) {
        let mut found = Vec::new();
        for (address, object) in self.objects.iter() {
            match self.role(object.id) {
                Some(Role::Box(layout)) => {
                    let awaited = self.awaited_by(object, layout);
                    // A box without a task comes from a pool, where it waits for its next use when it awaits nothing.
                    if if layout.is_task { self.is_pending(object) } else { !awaited.is_empty() } {
                        let at = self.state(object, layout).and_then(|state| u32::try_from(state).ok());
                        let step = Step::Await { machine: layout.machine, at };
                        found.push(Node {
                            fingerprint: fingerprint(object, layout.at),
                            waits_for: awaited,
                            ..node(address, step)
                        });
                    }
                }
                Some(Role::Task) if self.is_pending(object) => {
                    found.push(node(address, Step::Leaf(Leaf::of_task(self.types, &self.task, object))));
                }
                _ => {}
            }
        }
        self.graph.nodes = found.into_iter().map(|node| (node.address, node)).collect();
    }

    /// The state machine of a box and where it begins.
    fn machine<'a>(&'a self, object: &'a Object, layout: &BoxLayout) -> Option<(&'a Object, usize)> {
        if layout.is_reference {
            self.objects.get(object.reference(layout.at)?).map(|machine| (machine, 0))
        } else {
            Some((object, layout.at))
        }
    }

    fn state(&self, object: &Object, layout: &BoxLayout) -> Option<i32> {
        let (machine, at) = self.machine(object, layout)?;
        machine.number(at + layout.inner.state?)
    }

    fn awaited_by(&self, object: &Object, layout: &BoxLayout) -> Vec<Address> {
        let Some((machine, at)) = self.machine(object, layout) else { return Vec::new() };
        let references = layout.inner.awaiters.iter().filter_map(|offset| machine.reference(at + offset));
        let of_iterators = |address| self.machines.get(&address).copied().unwrap_or(address);
        let mut found: Vec<Address> = references.map(of_iterators).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    fn link(&mut self) {
        self.link_awaited();
        // What goes on after a task waits for it.
        let pending: Vec<Address> = self.graph.nodes.keys().copied().collect();
        for address in pending {
            let Some(object) = self.objects.get(address) else { continue };
            let is_task = match self.role(object.id) {
                Some(Role::Task) => true,
                Some(Role::Box(layout)) => layout.is_task,
                _ => false,
            };
            let Some(next) = object.reference(self.task.continuation).filter(|_| is_task) else { continue };
            let mut after = After::default();
            self.follow(next, DEEPEST, &mut after);
            for waiter in after.operations {
                if let Some(waiter) = self.graph.nodes.get_mut(&waiter)
                    && waiter.address != address
                    && !waiter.waits_for.contains(&address)
                {
                    waiter.waits_for.push(address);
                }
            }
            if let Some(node) = self.graph.nodes.get_mut(&address) {
                (node.blocks_thread, node.called_back) = (after.blocked, after.called);
            }
        }
        // A task that waits for others is no leaf.
        for node in self.graph.nodes.values_mut() {
            if let Step::Leaf(_) = node.step
                && !node.waits_for.is_empty()
                && let Some(object) = self.objects.get(node.address)
            {
                node.step = Step::Task(object.id);
            }
        }
        let awaited = self.graph.nodes.values().flat_map(|node| node.waits_for.iter().copied());
        self.graph.awaited = awaited.collect();
    }

    /// What is awaited and is no pending task becomes a leaf; what cannot be an object is no edge.
    fn link_awaited(&mut self) {
        let mut leaves = Vec::new();
        let nodes = &self.graph.nodes;
        for address in nodes.values().flat_map(|node| &node.waits_for) {
            let Some(object) = self.objects.get(*address).filter(|_| !nodes.contains_key(address)) else {
                continue;
            };
            let leaf = match self.role(object.id) {
                // The task has ended and who awaits it will run soon.
                Some(Role::Box(_) | Role::Task) => Leaf::Ended,
                _ => Leaf::of_source(self.types, object.id),
            };
            leaves.push(node(*address, Step::Leaf(leaf)));
        }
        self.graph.nodes.extend(leaves.into_iter().map(|leaf| (leaf.address, leaf)));
        let known: HashSet<Address> = self.graph.nodes.keys().copied().collect();
        for node in self.graph.nodes.values_mut() {
            node.waits_for.retain(|address| known.contains(address));
        }
    }

    /// What a continuation leads to.
    fn follow(&self, address: Address, depth: usize, after: &mut After) {
        let Some(object) = self.objects.get(address).filter(|_| depth > 0) else { return };
        if let Some(owner) = self.machines.get(&address) {
            after.operations.push(*owner);
            return;
        }
        match self.role(object.id) {
            Some(Role::Box(_) | Role::Task) => after.operations.push(address),
            Some(Role::Blocked) => after.blocked = true,
            Some(Role::Continuation(next) | Role::List(next)) => {
                if let Some(next) = object.reference(*next) {
                    self.follow(next, depth - 1, after);
                }
            }
            Some(Role::Array) => {
                for offset in (ELEMENTS..object.bytes.len()).step_by(8) {
                    if let Some(next) = object.reference(offset) {
                        self.follow(next, depth - 1, after);
                    }
                }
            }
            Some(Role::Delegate) => {
                let target = self.types.field(object.id, "_target").and_then(|at| object.reference(at));
                let before = after.operations.len();
                if let Some(target) = target {
                    self.follow(target, depth - 1, after);
                }
                if after.operations.len() == before && !after.blocked {
                    let target = target.and_then(|target| self.objects.get(target));
                    after.called = Some(target.map_or(object.id, |target| target.id));
                }
            }
            Some(Role::Semaphore) | None => {}
        }
    }

    fn semaphores(&mut self) {
        let mut found = Vec::new();
        for (address, object) in self.objects.iter() {
            if self.role(object.id) != Some(&Role::Semaphore) {
                continue;
            }
            let field = |name| self.types.field(object.id, name);
            let number = |name| field(name).and_then(|at| object.number(at));
            let mut waiters: Vec<Address> = Vec::new();
            let mut next = field("m_asyncHead").and_then(|at| object.reference(at));
            while let Some(waiter) = next.filter(|waiter| !waiters.contains(waiter) && waiters.len() < 4096) {
                waiters.push(waiter);
                next = self
                    .objects
                    .get(waiter)
                    .and_then(|node| self.types.field(node.id, "Next").and_then(|at| node.reference(at)));
            }
            if let (Some(free), false) = (number("m_currentCount"), waiters.is_empty()) {
                let most = number("m_maxCount").unwrap_or(i32::MAX);
                found.push(Semaphore { address, free, most, waiters });
            }
        }
        found.sort_by_key(|semaphore| semaphore.address);
        self.graph.semaphores = found;
    }
}

#[derive(Default)]
struct After {
    operations: Vec<Address>,
    blocked: bool,
    called: Option<TypeId>,
}

fn node(address: Address, step: Step) -> Node {
    Node { address, step, waits_for: Vec::new(), blocks_thread: false, called_back: None, fingerprint: 0 }
}

/// A hash of the words that are no references: those change when what they refer to moves.
fn fingerprint(object: &Object, from: usize) -> u64 {
    let rest = object.bytes.get(from..).unwrap_or_default();
    let words = rest.chunks_exact(4).filter_map(|word| word.first_chunk().map(|it| u32::from_le_bytes(*it)));
    let mut pairs = words.collect::<Vec<u32>>();
    // Halves of addresses: everything whose upper half is neither empty nor all ones.
    for pair in pairs.chunks_exact_mut(2) {
        if let [low, high] = pair
            && (0x100..0x1_0000).contains(high)
        {
            (*low, *high) = (0, 0);
        }
    }
    pairs
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, word| (hash ^ u64::from(*word)).wrapping_mul(0x0100_0000_01B3))
}
