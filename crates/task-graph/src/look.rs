//! What has to be read of a heap to know who awaits whom.

use std::collections::{BTreeMap, HashSet};

use crate::roles::{MachineLayout, Role, TASK, TaskLayout, is_box, machine_of, role};
use crate::state::COMPLETED;
use crate::types::{TypeId, Types};

/// Most bytes of one object that are of use.
const MOST_BYTES: usize = 8192;
/// Bytes of a box that are read in any case, if it has so many.
const OF_BOX: usize = 256;

/// Objects to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Which types' objects, and how many of their bytes.
    pub picks: Vec<Pick>,
    /// References to be followed: in objects of this type, at this offset.
    pub follow: Vec<(TypeId, u16)>,
    /// Arrays whose elements are to be followed.
    pub elements: Vec<TypeId>,
}

/// Objects of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The type.
    pub id: TypeId,
    /// How many of their first bytes.
    pub bytes: u16,
    /// Whether all are wanted, or those that others refer to.
    pub all: bool,
    /// Of all of them only those whose 32-bit word at this offset has none of these bits: tasks that have not ended.
    pub without: (u16, u32),
}

/// Whose fields have to be known first: boxes, tasks, and what hangs on them, with all that they extend.
#[must_use]
pub fn wanted_layouts(types: &Types) -> Vec<TypeId> {
    let mut wanted = HashSet::new();
    for (id, described) in types.iter() {
        let machine = machine_of(types, id);
        let of_interest = machine.is_some()
            || types.ancestry(id).any(|(_, it)| OF_INTEREST.contains(&it.name.as_str()))
            || described.name == TASK;
        if of_interest {
            wanted.extend(types.ancestry(id).map(|(id, _)| id));
            wanted.extend(machine);
        }
    }
    let mut wanted: Vec<TypeId> = wanted.into_iter().collect();
    wanted.sort_unstable();
    wanted
}

/// Types whose fields are read, and of what extends them.
const OF_INTEREST: [&str; 7] = [
    TASK,
    "System.Delegate",
    "System.Collections.Generic.List`1",
    "System.Threading.Tasks.TaskContinuation",
    "System.Runtime.CompilerServices.AsyncMethodBuilderCore+ContinuationWrapper",
    "System.Threading.SemaphoreSlim",
    "System.Threading.Tasks.Task+SetOnInvokeMres",
];

impl Look {
    /// What to read. Needs the layouts of [`wanted_layouts`]; none if tasks are not laid out as we know them.
    #[must_use]
    pub fn plan(types: &Types) -> Option<Look> {
        let task = TaskLayout::of(types)?;
        let mut plan = Planned { types, task, picks: BTreeMap::new(), look: Look::default() };
        for (id, described) in types.iter() {
            if described.count > 0 || described.rank > 0 || is_box(types, id) {
                plan.add(id);
            }
        }
        let Planned { picks, mut look, .. } = plan;
        look.picks = picks.into_values().collect();
        look.follow.sort_unstable();
        look.follow.dedup();
        look.elements.sort_unstable();
        Some(look)
    }
}

struct Planned<'a> {
    types: &'a Types,
    task: TaskLayout,
    picks: BTreeMap<TypeId, Pick>,
    look: Look,
}

impl Planned<'_> {
    fn add(&mut self, id: TypeId) {
        let task = self.task;
        let of_task: Vec<usize> =
            [task.continuation, task.flags].into_iter().chain(task.action).chain(task.number).collect();
        let pending = (u16::try_from(task.flags).unwrap_or(0), COMPLETED);
        match role(self.types, id) {
            Some(Role::Box(layout)) => {
                let mut read = if layout.is_task { of_task } else { Vec::new() };
                let without = if layout.is_task { pending } else { (0, 0) };
                if layout.is_task {
                    self.follow(id, task.continuation);
                }
                if layout.is_reference {
                    read.push(layout.at);
                    self.follow(id, layout.at);
                    self.machine(layout.machine, &layout.inner);
                } else {
                    read.extend(layout.inner.state.map(|state| layout.at + state));
                    for awaiter in &layout.inner.awaiters {
                        read.push(layout.at + awaiter);
                        self.follow(id, layout.at + awaiter);
                    }
                }
                // What else the method keeps helps to know it again after it has moved.
                read.push(OF_BOX - 8);
                self.pick(id, &read, true, without);
            }
            Some(Role::Task) => {
                let mut read = of_task;
                read.extend(self.types.field(id, "Next"));
                self.follow(id, task.continuation);
                if let Some(action) = task.action {
                    self.follow(id, action);
                }
                self.pick(id, &read, true, pending);
            }
            Some(Role::Semaphore) => {
                let fields = ["m_currentCount", "m_maxCount", "m_waitCount", "m_asyncHead"];
                let read: Vec<usize> = fields.iter().filter_map(|name| self.types.field(id, name)).collect();
                if let Some(head) = self.types.field(id, "m_asyncHead") {
                    self.follow(id, head);
                }
                self.pick(id, &read, true, (0, 0));
            }
            Some(Role::Delegate) => {
                if let Some(target) = self.types.field(id, "_target") {
                    self.follow(id, target);
                    self.pick(id, &[target], false, (0, 0));
                }
            }
            Some(Role::Continuation(next) | Role::List(next)) => {
                self.follow(id, next);
                let size = self.types.field(id, "_size").unwrap_or(next);
                self.pick(id, &[next, size], false, (0, 0));
            }
            Some(Role::Array) => {
                self.look.elements.push(id);
                self.pick(id, &[MOST_BYTES - 8], false, (0, 0));
            }
            Some(Role::Blocked) | None => {}
        }
    }

    fn machine(&mut self, id: TypeId, layout: &MachineLayout) {
        let mut read: Vec<usize> = layout.state.into_iter().collect();
        for awaiter in &layout.awaiters {
            read.push(*awaiter);
            self.follow(id, *awaiter);
        }
        self.pick(id, &read, false, (0, 0));
    }

    fn follow(&mut self, id: TypeId, offset: usize) {
        if let Ok(offset) = u16::try_from(offset) {
            self.look.follow.push((id, offset));
        }
    }

    fn pick(&mut self, id: TypeId, read: &[usize], all: bool, without: (u16, u32)) {
        let end = read.iter().max().map_or(8, |last| last + 8).min(MOST_BYTES);
        let bytes = u16::try_from(end).unwrap_or(u16::MAX);
        self.picks.insert(id, Pick { id, bytes, all, without });
    }
}
