//! What a type is to an await: a state machine on the heap, a task, something that hangs on one.

use crate::types::{TypeId, Types};

/// The ancestor of all tasks.
pub(crate) const TASK: &str = "System.Threading.Tasks.Task";
const OBJECT: &str = "System.Object";
const DELEGATE: &str = "System.Delegate";
const LIST: &str = "System.Collections.Generic.List`1";
const CONTINUATION: &str = "System.Threading.Tasks.TaskContinuation";
const WRAPPER: &str = "System.Runtime.CompilerServices.AsyncMethodBuilderCore+ContinuationWrapper";
const SEMAPHORE: &str = "System.Threading.SemaphoreSlim";
/// Types of which each pending `async` method has one object; their last type argument is the state machine.
const BOXES: [&str; 4] = [
    "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1",
    "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+DebugFinalizableAsyncStateMachineBox`1",
    "System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder`1+StateMachineBox`1",
    "System.Runtime.CompilerServices.AsyncValueTaskMethodBuilder`1+StateMachineBox`1",
];
/// A thread blocks in `Task.Wait` or `Task.Result` until it is called.
const BLOCKED: &str = "System.Threading.Tasks.Task+SetOnInvokeMres";

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The box of an `async` method's state machine.
    Box(BoxLayout),
    /// A task that is no box.
    Task,
    /// A `SemaphoreSlim`.
    Semaphore,
    /// A delegate.
    Delegate,
    /// What a task does when it has ended, with what it refers to next in a field at this offset.
    Continuation(usize),
    /// A list of continuations, with its array at this offset.
    List(usize),
    /// An array of continuations.
    Array,
    /// A thread that blocks.
    Blocked,
}

/// Where things lie in the box of a state machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxLayout {
    /// The state machine's type. Its name holds the name of the method.
    pub machine: TypeId,
    /// Where the state machine begins in the box, or where the reference to it lies.
    pub at: usize,
    /// Whether the box refers to it.
    pub is_reference: bool,
    /// Whether it is a task too.
    pub is_task: bool,
    /// What is in the state machine.
    pub inner: MachineLayout,
}

/// Where things lie in a state machine, counted from where it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineLayout {
    /// The number of the await that it is at; negative when it is at none.
    pub state: Option<usize>,
    /// What it awaits: all but one are empty.
    pub awaiters: Vec<usize>,
}

/// What all tasks have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskLayout {
    /// What goes on after it.
    pub continuation: usize,
    /// Its state.
    pub flags: usize,
    /// What it runs, if it runs something.
    pub action: Option<usize>,
    /// Its number; 0 until somebody asks for it.
    pub number: Option<usize>,
}

impl TaskLayout {
    /// As this runtime has it; none if there is no task, or its fields are not as we know them.
    #[must_use]
    pub fn of(types: &Types) -> Option<TaskLayout> {
        let (task, _) = types.iter().find(|(_, described)| described.name == TASK)?;
        Some(TaskLayout {
            continuation: types.field(task, "m_continuationObject")?,
            flags: types.field(task, "m_stateFlags")?,
            action: types.field(task, "m_action"),
            number: types.field(task, "m_taskId"),
        })
    }
}

/// Whether this is a box, by its name alone.
#[must_use]
pub fn is_box(types: &Types, id: TypeId) -> bool {
    types.get(id).is_some_and(|described| BOXES.contains(&described.name.as_str()))
}

/// The type of a box's state machine.
#[must_use]
pub fn machine_of(types: &Types, id: TypeId) -> Option<TypeId> {
    types.get(id).filter(|_| is_box(types, id))?.arguments.last().copied()
}

/// What a type is to an await; none if nothing. Needs the layouts that [`crate::wanted_layouts`] names.
#[must_use]
pub fn role(types: &Types, id: TypeId) -> Option<Role> {
    let described = types.get(id)?;
    if let Some(machine) = machine_of(types, id) {
        let is_reference = !types.is_struct(machine);
        return Some(Role::Box(BoxLayout {
            machine,
            at: types.field(id, "StateMachine").or_else(|| types.field(id, "_stateMachine"))?,
            is_reference,
            is_task: types.is_a(id, TASK),
            inner: machine_layout(types, machine),
        }));
    }
    if described.rank == 1 {
        let element = described.arguments.first().and_then(|id| types.get(*id))?;
        return (element.name == OBJECT).then_some(Role::Array);
    }
    match described.name.as_str() {
        BLOCKED => return Some(Role::Blocked),
        WRAPPER => return types.field(id, "_continuation").map(Role::Continuation),
        LIST => {
            let of_objects = described.arguments.first().is_some_and(|id| types.is_object(*id));
            return types.field(id, "_items").filter(|_| of_objects).map(Role::List);
        }
        _ => {}
    }
    if types.is_a(id, TASK) {
        return Some(Role::Task);
    }
    if types.is_a(id, SEMAPHORE) {
        return Some(Role::Semaphore);
    }
    if types.is_a(id, DELEGATE) {
        return Some(Role::Delegate);
    }
    if types.is_a(id, CONTINUATION) {
        let next = types.field(id, "m_action").or_else(|| types.field(id, "m_task"))?;
        return Some(Role::Continuation(next));
    }
    None
}

/// Where state and awaiters lie, by the names that compilers give them.
pub(crate) fn machine_layout(types: &Types, machine: TypeId) -> MachineLayout {
    let mut found = MachineLayout::default();
    let fields = types.layout(machine).map_or(&[][..], |layout| layout.fields.as_slice());
    for (offset, name) in fields {
        let Ok(offset) = usize::try_from(*offset) else { continue };
        if name == "<>1__state" || name == "$State" {
            found.state = Some(offset);
        } else if name.starts_with("<>u__") || name.starts_with("$A") {
            found.awaiters.push(offset);
        }
    }
    found
}

impl Types {
    pub(crate) fn is_object(&self, id: TypeId) -> bool {
        self.get(id).is_some_and(|described| described.name == OBJECT)
    }
}
