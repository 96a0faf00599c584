//! Code that was compiled before the process ran: which method the runtime took it for.
//!
//! The runtime keeps, for each image, the sorted list of its functions (the format is in
//! `docs/design/coreclr/botr/readytorun-format.md` of the runtime) and a hash table from entry points to methods,
//! which has those that were ever needed.

use crate::code_length::{NEEDED, Notes, code_length};
use crate::memory::Memory;
use crate::offsets::Offsets;

/// A function: begin, end, unwinding; relative to the image.
const FUNCTION: u64 = 12;
/// No image has more functions: the class library has 47,000.
const MOST_FUNCTIONS: u32 = 16 << 20;
/// Parts of one method (handlers of exceptions) that lie behind its beginning.
const MOST_PARTS: u32 = 1024;
/// Entries of a bucket; first their keys, then their values.
const SLOTS: usize = 4;
const BUCKET: u64 = 64;
const MOST_BUCKETS: u64 = 16 << 20;
/// Buckets that are looked at for one address.
const MOST_PROBES: u32 = 4096;
/// The upper bit of a bucket's first value says that others did not fit.
const VALUE: u64 = u64::MAX >> 1;
/// Keys of free and deleted slots.
const LAST_SPECIAL_KEY: u64 = 1;
/// Images from this version of the format on are described to the garbage collector as code of .NET 10 is.
const FIRST_WITHOUT_RETURN_KIND: u16 = 11;

/// A method in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) start: u64,
    pub(crate) bytes: u32,
    pub(crate) method: u64,
}

/// The tables of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Image {
    base: u64,
    functions: u64,
    count: u32,
    buckets: u64,
    bucket_count: u64,
    notes: Notes,
}

impl Image {
    /// The tables of a module whose code begins at an address.
    pub(crate) fn of(memory: &impl Memory, offsets: &Offsets, base: u64, module: u64) -> Option<Image> {
        let at = |structure: u64, offset: u64| structure.checked_add(offset);
        let info = memory.pointer(at(module, offsets.module_ready_to_run)?)?;
        let header = memory.pointer(at(info, offsets.r2r_header)?)?;
        if memory.array(header)? != *b"RTR\0" {
            return None;
        }
        let major = memory.u16(at(header, 4)?)?;
        let composite = memory.pointer(at(info, offsets.r2r_composite)?)?;
        let map = at(composite, offsets.r2r_entry_points)?;
        let buckets = memory.pointer(at(map, offsets.hash_map_buckets)?)?;
        let image = Image {
            base,
            functions: memory.pointer(at(info, offsets.r2r_functions)?)?,
            count: memory.u32(at(info, offsets.r2r_function_count)?)?,
            // The first bucket holds their number.
            buckets: at(buckets, BUCKET)?,
            bucket_count: memory.u64(buckets)?,
            notes: if major >= FIRST_WITHOUT_RETURN_KIND {
                Notes::WithoutReturnKind
            } else {
                Notes::WithReturnKind
            },
        };
        let is_sound = image.count <= MOST_FUNCTIONS && (2..=MOST_BUCKETS).contains(&image.bucket_count);
        is_sound.then_some(image)
    }

    /// The method at an address.
    pub(crate) fn method_at(&self, memory: &impl Memory, address: u64) -> Option<Found> {
        let relative = u32::try_from(address.checked_sub(self.base)?).ok()?;
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if self.begin(memory, middle)? <= relative {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let last = low.checked_sub(1)?;
        // Only the beginning of a method is in the table.
        let mut probes = MOST_PROBES;
        for index in (last.saturating_sub(MOST_PARTS)..=last).rev() {
            let start = self.base.checked_add(self.begin(memory, index)?.into())?;
            if let Some(method) = self.method_of(memory, start, &mut probes) {
                // One that was never needed, or padding, follows it.
                let found = Found { start, bytes: self.length(memory, index)?, method };
                return (address.checked_sub(start)? < found.bytes.into()).then_some(found);
            }
        }
        None
    }

    /// How many buckets there are to look at when all methods are wanted.
    pub(crate) fn effort(&self) -> u64 {
        self.bucket_count
    }

    /// Calls back for each method that was ever needed, until it wants no more.
    pub(crate) fn each(&self, memory: &impl Memory, mut found: impl FnMut(Found) -> bool) {
        for index in 0..self.bucket_count {
            let Some(bucket) = self.bucket(memory, index) else { return };
            for slot in 0..SLOTS {
                let (start, method) = (bucket[slot], (bucket[slot + SLOTS] & VALUE) << 1);
                if start <= LAST_SPECIAL_KEY || method == 0 {
                    continue;
                }
                let bytes = self.index_of(memory, start).and_then(|index| self.length(memory, index));
                if let Some(bytes) = bytes
                    && !found(Found { start, bytes, method })
                {
                    return;
                }
            }
        }
    }

    fn index_of(&self, memory: &impl Memory, start: u64) -> Option<u32> {
        let relative = u32::try_from(start.checked_sub(self.base)?).ok()?;
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.begin(memory, middle)?.cmp(&relative) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn function(&self, index: u32) -> Option<u64> {
        self.functions.checked_add(u64::from(index) * FUNCTION)
    }

    fn begin(&self, memory: &impl Memory, index: u32) -> Option<u32> {
        memory.u32(self.function(index)?)
    }

    /// The notes for the garbage collector follow those for unwinding: four bytes, two per code, four for a handler.
    fn length(&self, memory: &impl Memory, index: u32) -> Option<u32> {
        let unwinding = self.base.checked_add(memory.u32(self.function(index)?.checked_add(8)?)?.into())?;
        let codes = memory.u8(unwinding.checked_add(2)?)?;
        let size = (8 + 2 * u64::from(codes)).next_multiple_of(4);
        code_length(memory.array::<NEEDED>(unwinding.checked_add(size)?)?, self.notes)
    }

    /// Looks an entry point up in the runtime's hash table.
    fn method_of(&self, memory: &impl Memory, start: u64, probes: &mut u32) -> Option<u64> {
        let size = u32::try_from(self.bucket_count).ok()?;
        // The runtime counts in 32 bits.
        let low = |value: u64| u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0);
        let mut seed = low(start >> 2);
        let step = 1 + low(start >> 5).wrapping_add(1) % (size - 1);
        while *probes > 0 {
            *probes -= 1;
            let bucket = self.bucket(memory, (seed % size).into())?;
            if let Some(slot) = bucket[..SLOTS].iter().position(|key| *key == start) {
                return Some((bucket[slot + SLOTS] & VALUE) << 1).filter(|method| *method != 0);
            }
            if bucket[SLOTS] & !VALUE == 0 {
                return None;
            }
            seed = seed.wrapping_add(step);
        }
        None
    }

    fn bucket(&self, memory: &impl Memory, index: u64) -> Option<[u64; 2 * SLOTS]> {
        let bytes: [u8; 64] = memory.array(self.buckets.checked_add(index * BUCKET)?)?;
        let mut bucket = [0; 2 * SLOTS];
        for (slot, eight) in bucket.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *slot = u64::from_le_bytes(*eight);
        }
        Some(bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Noise;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_memory_does_harm(seed in any::<u64>(), count in any::<u32>(), buckets in 2u64..1000, address in any::<u64>()) {
            let memory = Noise(seed);
            let image = Image { base: address & !0xffff_ffff, functions: seed, count: count % MOST_FUNCTIONS, buckets: seed, bucket_count: buckets, notes: Notes::WithReturnKind };
            let _ = image.method_at(&memory, address);
            let _ = image.method_of(&memory, address, &mut 100);
            image.each(&memory, |_| true);
        }
    }
}
