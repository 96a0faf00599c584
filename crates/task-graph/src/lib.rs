//! Who awaits whom in a .NET process, from objects of its heap.
//!
//! ```text
//!  types of the heap --> wanted_layouts --> Look::plan --> (somebody reads the objects) --> Graph --> Forest --> shapes
//!                                                                                                      two looks: compare
//! ```
//!
//! **In:** types with their fields, and the first bytes of objects, all of one instant. **Out:** every pending operation,
//! what it waits for, merged by shape; what has not moved between two looks.
//!
//! A pending `async` method is a box: an object of `AsyncStateMachineBox<TResult, TStateMachine>`, a task that holds the
//! state machine. Its state is the number of the await it is at, and its awaiter leads to what it waits for. From the
//! other side, a task's `m_continuationObject` leads to what goes on after it: a box, a promise of `Task.WhenAll`, a list
//! of several, a delegate, or a thread that blocks. Both directions are used, so that `ValueTask` sources, which keep
//! their continuation in fields of their own, are seen too. No offset is written down here: all come from the runtime.
//!
//! To attribute something to the chain of awaits, take [`role`] (is it a box, where is its state machine) and [`Graph`]
//! (`waits_for`, [`Graph::waiters`]).
//!
//! **Not here:** reading objects, names for people, judgement.
#![forbid(unsafe_code)]

mod compare;
mod graph;
mod leaf;
mod look;
mod objects;
mod roles;
mod shapes;
mod state;
mod types;

pub use compare::{Change, compare};
pub use graph::{Graph, Node, Semaphore, Step};
pub use leaf::Leaf;
pub use look::{Look, Pick, wanted_layouts};
pub use objects::{Address, Object, Objects};
pub use roles::{BoxLayout, MachineLayout, Role, TaskLayout, is_box, machine_of, role};
pub use shapes::{Forest, Place, Shape};
pub use state::COMPLETED;
pub use types::{Layout, Type, TypeId, Types};
