//! Where methods begin in memory that holds compiled code.
//!
//! Every 32 bytes of code have four bits: 0 if no method begins there, else where, in steps of 4 bytes, counted
//! from 1. Eight of them are a unit, the first in its highest bits. In .NET 10 a unit whose lowest bits are above 8
//! lies within one method and says where it begins (the runtime's `docs/design/datacontracts/ExecutionManager.md`).

use crate::memory::Memory;
use crate::offsets::NibbleMaps;

/// Bytes of code that a nibble and a unit stand for.
const NIBBLE: u64 = 32;
const UNIT: u64 = 8 * NIBBLE;
/// Units that are read at once when looking back, and when listing.
const BLOCK: u64 = 64;
const LISTED_AT_ONCE: usize = 4096;
/// No method is longer than this.
const LONGEST_METHOD: u64 = 64 << 20;
/// No heap of code is longer than this.
const LONGEST_HEAP: u64 = 2 << 30;

/// The map of a heap of code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NibbleMap {
    /// Address of the code that the first nibble stands for.
    pub(crate) base: u64,
    /// Address behind the last code.
    pub(crate) end: u64,
    /// Address of the units.
    pub(crate) units: u64,
    pub(crate) kind: NibbleMaps,
}

impl NibbleMap {
    /// Where the method begins that an address may lie in; whether it reaches that far is not known here.
    pub(crate) fn method_start(&self, memory: &impl Memory, address: u64) -> Option<u64> {
        let distance = address.checked_sub(self.base).filter(|_| address < self.end)?;
        let unit_index = distance / UNIT;
        let unit = self.unit(memory, unit_index)?;
        if let Some(start) = self.pointed_to(unit) {
            return Some(start);
        }
        // Nibbles of code behind the address do not count.
        let nibble_index = distance % UNIT / NIBBLE;
        let shift = 28 - 4 * nibble_index;
        let mut upper = unit >> shift;
        if u64::from(upper & 15) > distance % NIBBLE / 4 + 1 {
            upper &= !15;
        }
        if let Some(start) = self.last_of(unit_index, upper.checked_shl(u32::try_from(shift).ok()?)?) {
            return Some(start);
        }
        match self.kind {
            NibbleMaps::Constant => {
                let index = unit_index.checked_sub(1)?;
                let unit = self.unit(memory, index)?;
                self.pointed_to(unit).or_else(|| self.last_of(index, unit))
            }
            NibbleMaps::Linear => self.look_back(memory, unit_index),
        }
    }

    fn look_back(&self, memory: &impl Memory, from: u64) -> Option<u64> {
        let lowest = from.saturating_sub(LONGEST_METHOD / UNIT);
        let mut behind = from;
        while behind > lowest {
            let first = behind.saturating_sub(BLOCK).max(lowest);
            let units = self.block(memory, first, behind - first)?;
            if let Some((index, unit)) = (first..).zip(units).filter(|(_, unit)| *unit != 0).last() {
                return self.last_of(index, unit);
            }
            behind = first;
        }
        None
    }

    /// How many units there are to look at when all methods are wanted.
    pub(crate) fn effort(&self) -> u64 {
        self.end.saturating_sub(self.base).min(LONGEST_HEAP).div_ceil(UNIT)
    }

    /// Calls back for each method in the order of addresses, until it wants no more.
    pub(crate) fn each_start(&self, memory: &impl Memory, mut found: impl FnMut(u64) -> bool) {
        let count = self.effort();
        for first in (0..count).step_by(LISTED_AT_ONCE) {
            let length = (count - first).min(LISTED_AT_ONCE as u64);
            let Some(units) = self.block(memory, first, length) else { return };
            for (index, unit) in (first..).zip(units) {
                if unit == 0 || self.pointed_to(unit).is_some() {
                    continue;
                }
                for nibble in 0..8u32 {
                    let value = unit >> (28 - 4 * nibble) & 15;
                    let start = self.start(index, nibble.into(), value);
                    if start.is_some_and(|start| start < self.end && !found(start)) {
                        return;
                    }
                }
            }
        }
    }

    fn unit(&self, memory: &impl Memory, index: u64) -> Option<u32> {
        memory.u32(self.units.checked_add(4 * index)?)
    }

    fn block(&self, memory: &impl Memory, first: u64, count: u64) -> Option<Vec<u32>> {
        let mut bytes = vec![0; usize::try_from(4 * count).ok()?];
        let read = memory.read(self.units.checked_add(4 * first)?, &mut bytes);
        read.then(|| bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)).collect())
    }

    /// What a unit within a method points to.
    fn pointed_to(&self, unit: u32) -> Option<u64> {
        let low = unit & 15;
        let is_pointer = self.kind == NibbleMaps::Constant && low > 8;
        is_pointer.then(|| self.base.checked_add(u64::from(unit - low) + u64::from(low - 9) * 4))?
    }

    /// The last method that begins in a unit.
    fn last_of(&self, index: u64, unit: u32) -> Option<u64> {
        let nibble = 7 - unit.trailing_zeros().checked_div(4).filter(|_| unit != 0)?;
        self.start(index, nibble.into(), unit >> (28 - 4 * nibble) & 15)
    }

    fn start(&self, unit: u64, nibble: u64, value: u32) -> Option<u64> {
        let step = u64::from(value.checked_sub(1)?);
        self.base.checked_add(unit.checked_mul(UNIT)?.checked_add(nibble * NIBBLE + step * 4)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Bytes, Noise};
    use proptest::prelude::*;

    const BASE: u64 = 0x10_0000;

    /// A map of methods as the runtime writes it: start and length, relative to the base.
    fn written(methods: &[(u64, u64)], kind: NibbleMaps) -> (NibbleMap, Bytes) {
        let end = methods.iter().map(|(start, length)| start + length).max().unwrap_or(0);
        let mut units = vec![0u32; usize::try_from(end / UNIT + 2).unwrap()];
        for &(start, length) in methods {
            let value = u32::try_from(start % NIBBLE / 4 + 1).unwrap();
            units[usize::try_from(start / UNIT).unwrap()] |= value << (28 - 4 * (start % UNIT / NIBBLE));
            if kind == NibbleMaps::Constant {
                let pointer = u32::try_from((start & !15) + (start & 15) / 4 + 9).unwrap();
                // The unit in which it begins has its nibble, even if it has no other.
                let (first, behind) = (start / UNIT + 1, (start + length) / UNIT);
                for unit in first..behind {
                    units[usize::try_from(unit).unwrap()] = pointer;
                }
            }
        }
        let bytes = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let map = NibbleMap { base: BASE, end: BASE + end, units: 0x1000, kind };
        (map, Bytes { at: 0x1000, bytes })
    }

    #[test]
    fn the_examples_of_the_specification_hold() {
        for kind in [NibbleMaps::Linear, NibbleMaps::Constant] {
            let (map, memory) = written(&[(304, 1024)], kind);
            for inside in [304, 306, 511, 512, 1300, 1327] {
                assert_eq!(map.method_start(&memory, BASE + inside), Some(BASE + 304), "{kind:?} {inside}");
            }
            assert_eq!(map.method_start(&memory, BASE + 302), None);
            assert_eq!(map.method_start(&memory, BASE + 2000), None);
            assert_eq!(map.method_start(&memory, 5), None);
        }
    }

    proptest! {
        #[test]
        fn every_byte_of_every_method_finds_its_start(
            sizes in proptest::collection::vec((32u64..3000, 0u64..600), 1..40),
        ) {
            let mut at = 0;
            let methods: Vec<(u64, u64)> = sizes.iter().map(|(length, gap)| {
                // Starts are aligned, and 32 bytes apart at least.
                let start = (at + gap).next_multiple_of(4);
                at = start + length;
                (start, *length)
            }).collect();
            for kind in [NibbleMaps::Linear, NibbleMaps::Constant] {
                let (map, memory) = written(&methods, kind);
                for &(start, length) in &methods {
                    for inside in [0, 1, 31, length / 2, length - 1] {
                        prop_assert_eq!(map.method_start(&memory, BASE + start + inside), Some(BASE + start));
                    }
                }
                let mut listed = Vec::new();
                map.each_start(&memory, |start| { listed.push(start - BASE); true });
                prop_assert_eq!(&listed, &methods.iter().map(|method| method.0).collect::<Vec<_>>());
            }
        }

        #[test]
        fn no_memory_does_harm(seed in any::<u64>(), base in any::<u64>(), length in 0u64..1 << 30, address in any::<u64>()) {
            for kind in [NibbleMaps::Linear, NibbleMaps::Constant] {
                let map = NibbleMap { base, end: base.saturating_add(length), units: seed, kind };
                let _ = map.method_start(&Noise(seed), address);
                let _ = map.method_start(&Noise(seed), base.wrapping_add(address % (length + 1)));
                let mut left = 1000;
                map.each_start(&Noise(seed), |_| { left -= 1; left > 0 });
            }
        }
    }
}
