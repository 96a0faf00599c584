//! The CLR profiling API, for a library that is loaded into a running .NET process.
//!
//! ```text
//!  runtime -- DllGetClassObject --> get_class_object::<P> --> P: Profiler     (what the runtime tells us)
//!             InitializeForAttach ------------------------------> Info        (what we can ask the runtime)
//!                                                                  |--> Suspended: stacks, objects
//!                                                                  +--> Metadata: names
//! ```
//!
//! **In:** the runtime's calls, each caught at the border: a panic of ours never reaches it. **Out:** typed answers.
//! The interfaces are raw tables of functions (`raw/`, sealed); their order is asserted while this is compiled, and a
//! function that the runtime's version does not have is an error, never a call past the end of its table.
//!
//! All calls take `&self`, since the runtime calls from many threads. References of the runtime's are given back
//! exactly once, when their wrapper is dropped. A suspended runtime is resumed when its guard is dropped.
//!
//! **Not here:** threads, sockets, what to do with an answer; and no call that is not used. See
//! `docs/clr-profiling.md` for how a call is added.
#![deny(unsafe_code)]

mod guid;
mod hresult;
mod ids;
mod profiler;
#[expect(unsafe_code, reason = "the border to the runtime's C++ interfaces")]
mod raw;

pub use guid::Guid;
pub use hresult::HResult;
pub use ids::{
    AppDomainId, AssemblyId, ClassId, CodeAddress, FunctionId, ModuleId, ObjectId, OsThreadId, ThreadId,
    Token,
};
pub use profiler::{Entry, Event, EventRecord, Profiler};
pub use raw::{
    ArrayInfo, ClassInfo, EventMask, EventSession, FieldOffset, Frame, FunctionInfo, HeapObject, HeapType,
    Info, MOST_ARGUMENTS, Metadata, ModuleInfo, PlacedFrame, RuntimeInformation, Suspended, TypeDefinition,
    Walk, can_be_unloaded, get_class_object, size_of_object,
};

/// Number of functions of each interface, by its name in the runtime's `corprof.idl`; inherited ones included.
#[must_use]
pub fn interface_sizes() -> Vec<(&'static str, usize)> {
    raw::interface_sizes()
}
