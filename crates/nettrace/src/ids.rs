//! Numbers that a trace uses as names, each with its own type.

use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ids! {
    /// Which kind of event, within one trace; points to [`EventMetadata`](crate::EventMetadata).
    MetadataId(u32);
    /// Which kind of event, within its provider.
    EventId(u32);
    /// The version of an event's layout.
    EventVersion(u32);
    /// How severe an event is: 1 critical to 5 verbose.
    Level(u8);
    /// What an event marks: 1 a start, 2 a stop, others as the provider likes.
    Opcode(u8);
    /// The groups an event belongs to, one bit each.
    Keywords(u64);
    /// A stack, valid until the next sequence point; 0 is none.
    StackId(u32);
    /// A list of labels, valid until the next sequence point; 0 is the empty list.
    LabelListId(u32);
    /// How the trace names a thread: the operating system's id before version 6, a row of its thread table since.
    ThreadIndex(u64);
    /// A thread, as the operating system numbers it.
    ThreadId(u64);
    /// A process, as the operating system numbers it.
    ProcessId(u64);
    /// The processor an event was written on.
    ProcessorNumber(u32);
    /// The place of an event among those its thread tried to write.
    SequenceNumber(u32);
    /// A moment in ticks of the trace's clock; see [`TraceInfo::since_start`](crate::TraceInfo::since_start).
    Timestamp(u64);
    /// The address of an instruction in a target.
    CodeAddress(u64);
}

/// A 128-bit id, kept so that its digits print in the usual order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub u128);

impl Guid {
    /// From the bytes .NET writes: the first three groups are little endian.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let [a0, a1, a2, a3, b0, b1, c0, c1, rest @ ..] = bytes;
        let [d0, d1, d2, d3, d4, d5, d6, d7] = rest;
        Guid(u128::from_be_bytes([a3, a2, a1, a0, b1, b0, c1, c0, d0, d1, d2, d3, d4, d5, d6, d7]))
    }

    /// Whether all bits are zero, which stands for no id.
    #[must_use]
    pub fn is_nil(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e] = [
            self.0 >> 96,
            self.0 >> 80 & 0xFFFF,
            self.0 >> 64 & 0xFFFF,
            self.0 >> 48 & 0xFFFF,
            self.0 & 0xFFFF_FFFF_FFFF,
        ];
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_prints_as_dotnet_prints_it() {
        let bytes =
            [0x23, 0x0d, 0x3c, 0xe1, 0xbc, 0xcc, 0x12, 0x4e, 0x93, 0x1b, 0xd9, 0xcc, 0x2e, 0xee, 0x27, 0xe4];
        assert_eq!(Guid::from_bytes(bytes).to_string(), "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4");
        assert!(Guid::default().is_nil());
    }
}
