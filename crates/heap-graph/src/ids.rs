//! Numbers with a meaning: each belongs to one [`HeapGraph`](crate::HeapGraph) and means nothing in another.

use std::fmt;

/// The number that stands for "nothing" in a table of indices; no object, type or root has it.
pub(crate) const NONE: u32 = u32::MAX;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The position in tables of this kind of thing, from 0.
            pub fn index(self) -> usize {
                as_index(self.0)
            }

            pub(crate) fn from_index(index: usize) -> $name {
                $name(as_u32(index))
            }
        }
    };
}

id! {
    /// An object.
    NodeId
}
id! {
    /// A type.
    TypeId
}
id! {
    /// A root: one named holder of objects, such as a static field.
    RootId
}
id! {
    /// The name of a field that a reference comes from.
    FieldId
}

/// Where an object lay in the target's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A stored index as a position in a slice.
#[inline]
pub(crate) fn as_index(stored: u32) -> usize {
    stored as usize
}

/// A position in a slice as it is stored. Every table of the crate is kept below [`NONE`] entries.
#[inline]
pub(crate) fn as_u32(index: usize) -> u32 {
    debug_assert!(index < as_index(NONE), "{index} does not fit a table of this crate");
    u32::try_from(index).unwrap_or(NONE)
}
