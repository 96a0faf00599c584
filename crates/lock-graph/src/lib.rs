//! Who waits for whom.
//!
//! ```text
//!  Look (threads, what each waits for, who holds it) --> WaitGraph --> Cycle: a deadlock
//!                                                                  +-> Queue: threads behind one that waits for no lock
//!  two looks --> unmoved: the threads of which nothing has changed in between
//! ```
//!
//! **In:** what was seen at one instant, from any runtime. **Out:** cycles and queues, each thread in one of them.
//!
//! A thread waits for one lock at a time, so each has at most one thread that it waits for, and a cycle is found by
//! following. A cycle of one instant is a deadlock only if nothing in it moves: [`unmoved`] compares two looks.
//!
//! **Not here:** where the data come from, names, judgement about what is healthy.
//!
//! ```
//! use lock_graph::{Holder, LockId, Look, Wait, WaitGraph, WaitFor};
//! use model::ThreadId;
//!
//! let wait = |lock, holder| Wait {
//!     lock: LockId(lock),
//!     what: WaitFor::Monitor,
//!     has_end: false,
//!     holder: Holder::Thread(ThreadId(holder)),
//! };
//! let mut look = Look::default();
//! look.waits.insert(ThreadId(1), wait(10, 2));
//! look.waits.insert(ThreadId(2), wait(20, 1));
//! assert_eq!(WaitGraph::of(&look).cycles[0].threads, [ThreadId(1), ThreadId(2)]);
//! ```
#![forbid(unsafe_code)]

mod graph;
mod look;

pub use graph::{Cycle, Queue, QueueEnd, WaitGraph};
pub use look::{Holder, LockId, Look, Seen, Wait, WaitFor, unmoved};
