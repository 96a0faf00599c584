//! How large objects of a type are, and where in them references stand.
//!
//! ```text
//! before the method table:  ... series: bytes, start | series: bytes, start | how many series
//! of arrays of structures:  ... references, gap | references, gap | start    | how many pairs, negative
//! ```
//! The layout is in the runtime's `gc/gcdesc.h`; it has been the same in all versions.

use runtime_memory::Memory;

/// Flags of a type.
const HAS_ELEMENTS: u32 = 0x8000_0000;
const HAS_REFERENCES: u32 = 0x0100_0000;
const ELEMENT_BYTES: u32 = 0xffff;
/// Most series of a type, and the largest object without its elements.
const MOST_SERIES: u64 = 1 << 16;
const LARGEST: u64 = 1 << 30;
const SMALLEST: u64 = 16;

/// The objects of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    base: u64,
    element: u64,
    references: References,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum References {
    None,
    /// Bytes, less those of the object, and the start of each.
    Series(Vec<(u64, u64)>),
    /// From a start on: references, then bytes without.
    Repeating(u64, Vec<(u32, u32)>),
}

impl Shape {
    /// That of the type with a method table.
    pub(crate) fn read(memory: &impl Memory, method_table: u64) -> Option<Shape> {
        let flags = memory.u32(method_table)?;
        let base = u64::from(memory.u32(method_table.checked_add(4)?)?);
        if !(SMALLEST..LARGEST).contains(&base) {
            return None;
        }
        let element = if flags & HAS_ELEMENTS == 0 { 0 } else { u64::from(flags & ELEMENT_BYTES) };
        let references = if flags & HAS_REFERENCES == 0 {
            References::None
        } else {
            References::read(memory, method_table)?
        };
        Some(Shape { base, element, references })
    }

    /// That of the holes between objects, which are bytes.
    pub(crate) fn hole() -> Shape {
        Shape { base: 24, element: 1, references: References::None }
    }

    /// Whether an object's size depends on how many elements it has.
    pub(crate) fn has_elements(&self) -> bool {
        self.element != 0
    }

    pub(crate) fn has_references(&self) -> bool {
        self.references != References::None
    }

    /// The bytes of an object with so many elements.
    pub(crate) fn bytes(&self, elements: u32) -> u64 {
        // The largest possible sum is far from the largest number.
        self.base + self.element * u64::from(elements)
    }

    /// The stretches of references in an object of so many bytes: from and to, counted from its beginning.
    pub(crate) fn stretches(&self, bytes: u64) -> Stretches<'_> {
        Stretches { references: &self.references, bytes, next: 0, at: None }
    }
}

impl References {
    fn read(memory: &impl Memory, method_table: u64) -> Option<References> {
        let count = memory.u64(method_table.checked_sub(8)?)?.cast_signed();
        let before = |offset: u64| memory.u64(method_table.checked_sub(offset)?);
        if count.unsigned_abs() > MOST_SERIES {
            return None;
        }
        if count > 0 {
            let series = (0..count.unsigned_abs()).map(|index| {
                let start = before(16 + 16 * index)?;
                Some((before(24 + 16 * index)?, start))
            });
            return series.collect::<Option<Vec<_>>>().map(References::Series);
        }
        let start = before(16)?;
        let pairs = (0..count.unsigned_abs()).map(|index| {
            let [a, b, c, d, e, f, g, h] = before(24 + 8 * index)?.to_le_bytes();
            Some((u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])))
        });
        pairs.collect::<Option<Vec<_>>>().map(|pairs| References::Repeating(start, pairs))
    }
}

/// Stretches of references, in no order.
pub(crate) struct Stretches<'s> {
    references: &'s References,
    bytes: u64,
    next: usize,
    at: Option<u64>,
}

impl Iterator for Stretches<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        match self.references {
            References::None => None,
            References::Series(series) => {
                let &(less, start) = series.get(self.next)?;
                self.next += 1;
                let end = start.checked_add(less.wrapping_add(self.bytes))?;
                (8 <= start && end <= self.bytes && start <= end).then_some((start, end))
            }
            References::Repeating(start, pairs) => {
                let &(references, gap) = pairs.get(self.next)?;
                let from = self.at.unwrap_or(*start).max(8);
                let end = from.checked_add(8 * u64::from(references))?;
                // The last word of an object belongs to the next one.
                if end > self.bytes.saturating_sub(8) || end.checked_add(gap.into())? <= from {
                    return None;
                }
                self.at = Some(end + u64::from(gap));
                self.next = (self.next + 1) % pairs.len();
                Some((from, end))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A method table at 0x100, with what stands before it.
    struct Table(Vec<u64>);

    impl Memory for Table {
        fn read(&self, address: u64, into: &mut [u8]) -> bool {
            let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
            let start = 0x108 - bytes.len() as u64;
            let from = address.checked_sub(start).and_then(|from| usize::try_from(from).ok());
            let part = from.and_then(|from| bytes.get(from..from.checked_add(into.len())?));
            part.map(|part| into.copy_from_slice(part)).is_some()
        }
    }

    fn stretches(words: Vec<u64>, elements: u32) -> (u64, Vec<(u64, u64)>) {
        let shape = Shape::read(&Table(words), 0x100).expect("a shape");
        let bytes = shape.bytes(elements);
        (bytes, shape.stretches(bytes).collect())
    }

    #[test]
    fn references_of_objects_arrays_and_arrays_of_structures_are_found() {
        let head = |flags: u32, base: u64| u64::from(flags) | base << 32;
        // 48 bytes: references at 8 and 16, and at 32.
        let class = vec![8u64.wrapping_sub(48), 32, 16u64.wrapping_sub(48), 8, 2, head(HAS_REFERENCES, 48)];
        assert_eq!(stretches(class, 0), (48, vec![(8, 24), (32, 40)]));
        // An array of references: all behind its length.
        let array = vec![24u64.wrapping_neg(), 16, 1, head(HAS_ELEMENTS | HAS_REFERENCES | 8, 24)];
        assert_eq!(stretches(array, 3), (48, vec![(16, 40)]));
        // An array of structures of 24 bytes: one reference, then 16 bytes without.
        let pairs = vec![1 | 16 << 32, 16, 1u64.wrapping_neg(), head(HAS_ELEMENTS | HAS_REFERENCES | 24, 24)];
        assert_eq!(stretches(pairs, 2), (72, vec![(16, 24), (40, 48)]));
        assert_eq!(stretches(vec![head(HAS_ELEMENTS | 2, 22)], 5), (32, Vec::new()));
    }
}
