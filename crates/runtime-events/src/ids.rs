//! Numbers that a runtime uses as names, each with its own type.

use std::fmt;

use nettrace::PayloadReader;

use crate::layout::Field;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($inner:ident) = $read:ident, $format:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&format!($format, self.0))
            }
        }

        impl<'a> Field<'a> for $name {
            fn read(reader: &mut PayloadReader<'a>) -> Result<Self, nettrace::Error> {
                reader.$read().map($name)
            }
        }
    )*};
}

ids! {
    /// Which runtime in the process; there is one.
    ClrInstance(u16) = u16, "{}";
    /// A collection: they are counted from 1.
    GcNumber(u32) = u32, "{}";
    /// A generation: 0, 1, 2; 3 is the large object heap, 4 the pinned object heap.
    Generation(u32) = u32, "{}";
    /// A heap of the server collector; 0 without it.
    HeapIndex(u32) = u32, "{}";
    /// A method, by the address of its description. A generic method has one for each set of arguments.
    MethodId(u64) = u64, "{:#x}";
    /// A module, by the address of its description.
    ModuleId(u64) = u64, "{:#x}";
    /// An assembly, by the address of its description.
    AssemblyId(u64) = u64, "{:#x}";
    /// What an assembly was bound by; 0 in runtimes of today.
    BindingId(u64) = u64, "{:#x}";
    /// An application domain, by the address of its description.
    AppDomainId(u64) = u64, "{:#x}";
    /// A type, by the address of its description.
    TypeId(u64) = pointer, "{:#x}";
    /// Where an object lies; valid until the next collection moves it.
    ObjectAddress(u64) = pointer, "{:#x}";
    /// A handle to an object, by its address; 0 for an object that the stack pins.
    HandleAddress(u64) = pointer, "{:#x}";
    /// What keeps an object alive, by its address: a handle, a place on a stack.
    RootId(u64) = pointer, "{:#x}";
    /// Where a part of the heap begins.
    SegmentAddress(u64) = u64, "{:#x}";
    /// A lock, by the address of its description, which outlives moves of the object it belongs to.
    LockId(u64) = pointer, "{:#x}";
    /// A unit of work of the thread pool.
    WorkId(u64) = pointer, "{:#x}";
    /// A thread, by the address of its description.
    ManagedThreadId(u64) = u64, "{:#x}";
    /// A row in the metadata tables of a module.
    MetadataToken(u32) = u32, "{:#010x}";
    /// Which replacement of a method's code by a profiler; 0 is the method as it was compiled.
    ReJitId(u64) = u64, "{}";
    /// An instrument of a meter; 0 is none.
    InstrumentId(i32) = i32, "{}";
}
