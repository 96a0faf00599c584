//! Brings the agent into a .NET process, asks it, and sees it leave.
//!
//! ```text
//!  library (carried inside) --> place: a file in the target's temp folder --+
//!  token, listen: a socket in the same folder ------------------------------+--> attach (diagnostics-ipc) --> Attached
//!                                                                                 threads, stacks, heap, leave <-- wire --> agent
//! ```
//!
//! **In:** a pid and a client for its runtime. **Out:** [`Attached`], whose agent answers and can be told to leave; when it
//! is dropped, or this process dies, the agent notices the broken socket and leaves by itself.
//!
//! The library is written through `/proc/PID/root`, so that the target finds it whatever its mount namespace, and belongs to
//! the target's user. Its name holds a hash of its content: one name per build, and a file of that name is never written
//! to again. It is removed as soon as the runtime has loaded it, unless another host needs it at that moment.
//!
//! **Not here:** what the ids mean, analysis, finding processes.
#![forbid(unsafe_code)]

mod async_samples;
mod attach;
mod attached;
mod error;
mod folder;
mod graph;
mod heap;
mod left_behind;
mod library;
mod listen;
mod lock_layout;
mod locks;
mod memory;
mod place;
mod running;
mod suits;

/// The name of the agent's thread in the target.
pub const THREAD_NAME: &str = "drdotnet-agent";

pub use agent_wire::{
    Blocked, Chain, ChainEnd, Class, EventReader, Fault, Field, Follow, GraphEnd, GraphWay, HeapType, Hello,
    Layout, LockLayout, Method, Object, ObjectSink, Owner, Pause, Pending, Pick, Plan, Reason, Sample, Stack,
    Stage, ThreadEntry, ThreadFrames, ToldEvent, ToldFrame, ToldObject, WaitKind, WaitList,
};
pub use async_samples::{AsyncCensus, AsyncSample};
pub use attach::{Options, attach};
pub use attached::{Attached, Farewell, Stacks, Threads};
pub use error::AgentError;
pub use graph::{GraphOrder, GraphSink, HeapTold};
pub use heap::{HeapObjects, HeapTypes};
pub use library::{library, library_name};
pub use lock_layout::{FoundLayout, find_lock_layout};
pub use locks::{LockOwners, Locks};
