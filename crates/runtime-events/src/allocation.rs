//! Allocations that were picked out: one in about 100 kB, or at random.

use nettrace::Utf16;

use crate::{ClrInstance, HeapIndex, ObjectAddress, TypeId};

codes! {
    /// The heap of an object.
    AllocationKind: u32 {
        /// Small objects.
        0 => Small,
        /// Large objects: 85 000 bytes and more.
        1 => Large,
        /// Objects that never move.
        2 => Pinned,
    }
}

events! {
    /// Event 10: about 100 kB were allocated since the last one on this heap; the object that went over it.
    AllocationTick<'a> {
        /// Bytes since the last one, cut to 32 bits.
        bytes_low: u32,
        /// The object's heap.
        kind: AllocationKind,
        /// Which runtime.
        clr: ClrInstance,
        /// Bytes since the last one.
        bytes: u64 [since 2],
        /// The object's type.
        type_id: TypeId [since 2],
        /// The name of the object's type.
        type_name: Utf16<'a> [since 2],
        /// Which heap of the server collector.
        heap: HeapIndex [since 2],
        /// The object.
        object: ObjectAddress [since 3],
        /// The object's size (.NET 6).
        object_bytes: u64 [since 4],
    }

    /// Event 303 (.NET 10): an object that was picked at random, every byte with the same chance.
    AllocationSampled<'a> {
        /// The object's heap.
        kind: AllocationKind,
        /// Which runtime.
        clr: ClrInstance,
        /// The object's type.
        type_id: TypeId,
        /// The name of the object's type.
        type_name: Utf16<'a>,
        /// The object.
        object: ObjectAddress,
        /// The object's size.
        object_bytes: u64,
        /// The byte of the object that was picked.
        sampled_byte: u64,
    }

    /// Events 200 and 201: the program says that an object holds more, or less, memory than the collector sees.
    MemoryPressure {
        /// How much.
        bytes: u64,
        /// Which runtime.
        clr: ClrInstance,
    }
}

impl AllocationTick<'_> {
    /// Bytes since the last one, whatever the version.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.bytes.unwrap_or(u64::from(self.bytes_low))
    }
}

impl AllocationSampled<'_> {
    /// A byte is picked once in this many.
    pub const MEAN_BYTES: f64 = 102_400.0;

    /// How many bytes of allocations this sample stands for: its size over the chance that it was picked.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "no object is so large")]
    pub fn represented_bytes(&self) -> f64 {
        let size = self.object_bytes as f64;
        let missed = (size * (-1.0 / Self::MEAN_BYTES).ln_1p()).exp_m1();
        if missed < 0.0 { size / -missed } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use nettrace::{EventVersion, PayloadReader, PointerSize};

    use super::*;
    use crate::layout::{Fields, Layout};

    #[test]
    fn a_small_object_stands_for_the_mean_and_a_huge_one_for_itself() {
        let sample = |object_bytes: u64| {
            let mut bytes = [0_u8; 40];
            bytes[24..32].copy_from_slice(&object_bytes.to_le_bytes());
            let reader = PayloadReader::new(&bytes, PointerSize::Eight);
            let mut fields = Fields::new(reader, EventVersion(0));
            AllocationSampled::decode(&mut fields).unwrap().represented_bytes()
        };
        assert!((sample(24) - 102_412.0).abs() < 1.0, "{}", sample(24));
        assert!((sample(102_400) - 161_994.0).abs() < 10.0, "{}", sample(102_400));
        assert!((sample(1 << 30) - 1_073_741_824.0).abs() < 1.0);
        assert_eq!(sample(0).to_bits(), 0.0_f64.to_bits());
    }
}
