//! How many objects there are, counted from outside while the process runs: nothing is stopped for it.

use heap_graph::Generation;
use runtime_memory::Memory;

use crate::layout::{HeapLayout, HeapRange};
use crate::walk::Walk;

/// The least that is looked at of each range.
const LEAST: u64 = 64 << 10;
/// Most ranges that are looked at: of more, every second, third and so on.
const MOST_RANGES: usize = 256;
/// Fewer bytes of objects say nothing of the rest.
const ENOUGH: u64 = 4 << 10;

/// How many objects there are, about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Population {
    /// Objects, holes between them and those that nothing refers to included.
    pub objects: u64,
    /// Of these, in generation 0, where most die.
    pub young: u64,
    /// Bytes in which they lie.
    pub bytes: u64,
}

/// Counts the objects of about so many bytes, at the beginning of each range, and takes the rest to be alike. So in regions they
/// are spread over the heap; in segments, of which there are few, most are the oldest. Where threads make objects meanwhile, a
/// range may end early. None if nothing could be counted.
pub(crate) fn count(memory: &impl Memory, heap: &HeapLayout, bytes: u64) -> Option<Population> {
    let length = |range: &HeapRange| range.end.saturating_sub(range.start);
    // Some of each generation.
    let mut ranges = heap.ranges.clone();
    ranges.sort_by_key(|range| range.generation);
    let sum = |every: usize| ranges.iter().step_by(every).map(length).fold(0, u64::saturating_add);
    let every = ranges.len().div_ceil(MOST_RANGES).max(1);
    let (all, looked_at) = (sum(1), sum(every));
    let mut walk = Walk::new(memory, 0, []);
    let (mut objects, mut young, mut counted, mut told) = (0_u64, 0_u64, 0_u64, 0_u64);
    for range in ranges.iter().step_by(every) {
        let share = u128::from(bytes) * u128::from(length(range)) / u128::from(looked_at.max(1));
        let share = u64::try_from(share).unwrap_or(u64::MAX).max(LEAST).min(length(range));
        let until = range.start.saturating_add(share);
        let (found, end) = walk.count(range, until);
        let walked = end.saturating_sub(range.start);
        if walked >= ENOUGH.min(share) && walked > 0 {
            let found = scaled(found, length(range), walked);
            objects = objects.saturating_add(found);
            young += if range.generation == Generation::Gen0 { found } else { 0 };
            told = told.saturating_add(length(range));
            counted += walked;
        }
    }
    // Ranges that were not or could not be looked at are as full as the others.
    (counted > 0).then(|| Population {
        objects: scaled(objects, all, told),
        young: scaled(young, all, told),
        bytes: all,
    })
}

fn scaled(number: u64, by: u64, of: u64) -> u64 {
    let scaled = u128::from(number) * u128::from(by) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Where the only type is described, and the bytes of its objects.
    const METHOD_TABLE: u64 = 0x1000;
    const OBJECT: u64 = 64;
    const FIRST: u64 = 1 << 32;

    /// Objects of one type, one behind the other.
    #[derive(Default)]
    struct Alike {
        read: Cell<u64>,
    }

    impl Memory for Alike {
        fn read(&self, address: u64, into: &mut [u8]) -> bool {
            self.read.set(self.read.get() + into.len() as u64);
            for (at, byte) in (address..).zip(into.iter_mut()) {
                let word = match at & !7 {
                    // Flags, and the bytes of each object.
                    METHOD_TABLE => OBJECT << 32,
                    start if start >= FIRST && start.is_multiple_of(OBJECT) => METHOD_TABLE,
                    _ => 0,
                };
                *byte = word.to_le_bytes()[usize::try_from(at % 8).unwrap()];
            }
            true
        }
    }

    fn heap(ranges: u64, length: u64) -> HeapLayout {
        let range = |number: u64| HeapRange {
            generation: if number.is_multiple_of(2) { Generation::Gen0 } else { Generation::Gen2 },
            start: FIRST + number * length,
            end: FIRST + (number + 1) * length,
            committed: 0,
            reserved: 0,
            heap: 0,
        };
        HeapLayout { ranges: (0..ranges).map(range).collect(), has_regions: true, ..HeapLayout::default() }
    }

    #[test]
    fn a_part_of_the_heap_tells_of_all_of_it() {
        let memory = Alike::default();
        let counted = count(&memory, &heap(10, 4 << 20), 1 << 20).unwrap();
        assert_eq!(counted.bytes, 40 << 20);
        assert_eq!((counted.objects, counted.young), ((40 << 20) / OBJECT, (20 << 20) / OBJECT));
        assert!(memory.read.get() < 2 << 20, "{} bytes", memory.read.get());
    }

    #[test]
    fn of_many_regions_some_are_looked_at() {
        let memory = Alike::default();
        let counted = count(&memory, &heap(9_999, 4 << 20), 16 << 20).unwrap();
        assert_eq!((counted.bytes, counted.objects), (9_999 * (4 << 20), 9_999 * (4 << 20) / OBJECT));
        let half = counted.objects / 2;
        assert!(counted.young.abs_diff(half) < half / 50, "{counted:?}");
        assert!(memory.read.get() < 20 << 20, "{} bytes", memory.read.get());
    }
}
