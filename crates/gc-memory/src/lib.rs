//! What keeps the objects of a .NET process alive, and where they lie: read from outside, out of the garbage
//! collector's own structures.
//!
//! ```text
//!                      +--> handle tables ------> handles by kind, dependent ones with key and value
//! /proc/PID/mem  --->  +--> finalizer queue ----> ready, registered                                    RawRoots
//! (or a core dump)     +--> arrays of statics, of all threads and of each          raw copies, while  ---------> GraphBuilder
//!                      +--> stacks, word by word                                   nothing moves        names
//!                      +--> generations --------> ranges of the heap
//! ```
//!
//! **In:** a process that this user may trace, in which somebody keeps the runtime from moving objects. **Out:** the
//! roots of its heap with their names, and the ranges of its generations.
//!
//! Reading comes in three steps, so that the process is held for as short as can be: [`GcMemory::open`] finds all
//! that does not change, [`GcMemory::read_roots`] copies while the runtime is suspended, [`GcMemory::tell`] makes
//! sense of the copies afterwards.
//!
//! Nothing is written and nothing is stopped here. The process may be hostile: every read is bounded, every list has
//! an end, and what does not fit together is left out. Stacks are read without knowing which words are references:
//! a word that looks like one counts as one, so that a few roots may be none.
//!
//! Names of statics and of methods need .NET 9 or 10; handles, the finalizer queue and ranges are found on older
//! runtimes too. `docs/heap-memory.md` says what stands where.
//!
//! ```no_run
//! use gc_memory::GcMemory;
//! use heap_graph::GraphBuilder;
//!
//! let mut memory = GcMemory::open(model::ProcessId(4242))?;
//! let mut builder = GraphBuilder::new();
//! // The runtime is suspended, objects are given to the builder, and then:
//! let raw = memory.read_roots(&[]);
//! // The runtime runs again.
//! let told = memory.tell(&raw, &mut builder)?;
//! println!("{} handles, {} static fields", told.handles, told.statics);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod core;
#[doc(hidden)]
pub mod decode;
mod error;
mod finalizer;
mod handles;
mod instances;
mod layout;
mod memory;
mod modules;
mod population;
mod raw;
mod shape;
mod stacks;
mod statics;
mod tables;
mod tell;
mod thread_names;
mod threads;
mod variables;
mod walk;
mod whereabouts;

pub use self::core::{CoreHeap, CoreMemory, graph_of_core};
pub use error::Error;
pub use finalizer::FinalizerQueue;
pub use handles::{Handle, HandleKind};
pub use layout::{FreeRegions, HeapLayout, HeapRange};
pub use memory::GcMemory;
pub use population::Population;
pub use raw::RawRoots;
pub use stacks::{Frame, ThreadFrames};
pub use tell::Told;
