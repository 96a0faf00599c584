//! From a running .NET process to the graph of its heap, by the way that costs it least.
//!
//! ```text
//!  take -- Walk:        agent walks the heap, roots read from outside -+--> GraphBuilder --> HeapGraph
//!          AgentEvents: agent hands on the runtime's heap events ------+
//!          Events:      +-- session 1: GC, types, heap dump -----------+
//!           runtime <---|              (streams while the collection runs)
//!                       +-- session 2: asks for the collection; ended as soon as it is granted
//! ```
//!
//! **In:** a process ([`take()`]) or a client ([`collect()`]). **Out:** a [`Taken`] heap with the pause that it cost, or an
//! [`Error`] that says what is missing: a graph with holes is never handed out.
//!
//! A walk needs no collection. For events the runtime makes one full, blocking collection and tells every object while all
//! threads are stopped. Asked for over the socket in one session, as other tools do, all of it would be kept in the
//! target's memory until the collection is over: a runtime does not send before it has answered, and it answers after the
//! collection. So the first session listens and the second asks, and the events leave the target while they come.
//!
//! Names of static fields are completed from the metadata of the loaded assemblies ([`Assemblies`]).
//!
//! It keeps no file and draws no conclusion; the pause is estimated beforehand by [`estimated_pause`].
#![forbid(unsafe_code)]

mod agent_events;
mod bundle;
mod by_agent;
mod collect;
mod collected;
mod error;
mod estimate;
mod files;
mod nested;
mod owners;
mod room;
mod snapshot;
mod take;
mod told_types;
mod type_name;
mod walk;

pub use collect::{Options, Stage, Watch, collect};
pub use collected::{Collected, Pause};
pub use error::{Error, Missing};
pub use estimate::{Expected, HeapSize, estimated_pause, heap_size};
pub use files::ProcessFiles;
pub use owners::Assemblies;
pub use room::{MemoryLimit, memory_limit, spare_room};
pub use take::{Collect, LONGEST_UNASKED, Taken, Way, Wish, take, take_by_events};
pub use type_name::readable;
