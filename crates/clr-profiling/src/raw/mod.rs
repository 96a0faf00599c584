//! The border: everything that needs `unsafe`. Nothing raw leaves this module.

mod callback;
mod classes;
mod com;
mod event_session;
mod factory;
mod fence;
mod heap;
mod info;
mod metadata;
mod object_references;
mod placed;
mod slots;
mod suspended;
#[cfg(test)]
mod tests;

pub use classes::{ClassInfo, FieldOffset};
pub use event_session::EventSession;
pub use factory::get_class_object;
pub use heap::{ArrayInfo, HeapObject, HeapType, MOST_ARGUMENTS, size_of_object};
pub use info::{EventMask, FunctionInfo, Info, ModuleInfo, RuntimeInformation};
pub use metadata::{Metadata, TypeDefinition};
pub use object_references::can_be_unloaded;
pub use placed::PlacedFrame;
pub use slots::interface_sizes;
pub use suspended::{Frame, Suspended, Walk};

// One function stands in for every callback that we do not care about, whatever its arguments. That is right where
// the caller clears the stack, which all 64-bit conventions do.
const _: () = assert!(cfg!(target_pointer_width = "64"), "only 64-bit targets are supported");
