//! Typed events of the .NET runtime, decoded from the payloads of a nettrace stream.
//!
//! **In:** an [`nettrace::Event`]: provider, id, version, payload. **Out:** a [`RuntimeEvent`], one small struct per
//! kind of event, borrowed from the payload; nothing for an event this crate does not know.
//!
//! ```text
//!  nettrace::Event --> provider + id --> layout of that event, up to its version --> RuntimeEvent
//!    provider Microsoft-Windows-DotNETRuntime          gc, allocation, exception, contention, thread,
//!                                                      thread_pool, jit, loader, types, heap, handle
//!    provider Microsoft-Windows-DotNETRuntimeRundown   the same methods, modules, threads, at the end of a session
//!    provider Microsoft-DotNETCore-SampleProfiler      sample
//!    provider System.Diagnostics.Metrics               metrics
//!    any event called EventCounters                    counters, by the fields its metadata describes
//! ```
//!
//! Layouts grow at their end. A version newer than the last one known decodes to the fields that are known
//! ([`decode_with_rest`] hands out what is behind them); a field that an older version does not have is `None`.
//! A payload that ends too early gives a [`DecodeError`] with the field. No bytes make it panic. Lists
//! ([`heap`], [`types`], [`jit::IlToNativeMap`]) are iterated in place, without a copy.
//!
//! **Not here:** events are not put into relation (a pause, a collection, a heap graph, the name of an address):
//! that is done where they are used. Text stays UTF-16 until it is printed.
//!
//! ```no_run
//! use nettrace::{Item, Reader};
//! use runtime_events::{RuntimeEvent, decode};
//!
//! let mut reader = Reader::new(std::fs::File::open("app.nettrace")?);
//! while let Some(item) = reader.next()? {
//!     let Item::Event(event) = item else { continue };
//!     match decode(&event)? {
//!         Some(RuntimeEvent::ExceptionThrown(thrown)) => println!("{}: {}", thrown.type_name, thrown.message),
//!         Some(RuntimeEvent::GcStart(start)) => println!("collection {} for {:?}", start.number, start.reason),
//!         _ => {}
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

#[macro_use]
mod layout;

pub mod allocation;
mod bulk;
pub mod contention;
pub mod counters;
mod decode;
mod error;
mod event;
pub mod exception;
pub mod gc;
pub mod gc_history;
pub mod handle;
pub mod heap;
mod ids;
pub mod jit;
pub mod keyword;
pub mod loader;
pub mod metrics;
pub mod process;
pub mod provider;
pub mod sample;
pub mod thread;
pub mod thread_pool;
pub mod types;

pub use bulk::{Bulk, BulkIter, Record};
pub use decode::{decode, decode_numbered, decode_payload, decode_with_rest};
pub use error::DecodeError;
pub use event::RuntimeEvent;
pub use ids::{
    AppDomainId, AssemblyId, BindingId, ClrInstance, GcNumber, Generation, HandleAddress, HeapIndex,
    InstrumentId, LockId, ManagedThreadId, MetadataToken, MethodId, ModuleId, ObjectAddress, ReJitId, RootId,
    SegmentAddress, TypeId, WorkId,
};
