//! Which part of the heap belongs to which generation.

use crate::ids::Address;

/// A part of the heap by how long its objects have lived, or why they are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// New objects.
    Gen0,
    /// Objects that survived one collection.
    Gen1,
    /// Objects that survived two.
    Gen2,
    /// The large object heap.
    Large,
    /// The pinned object heap.
    Pinned,
    /// Objects that are never collected, such as literals.
    Frozen,
}

impl Generation {
    /// Every generation, in order.
    pub const ALL: [Generation; 6] = [
        Generation::Gen0,
        Generation::Gen1,
        Generation::Gen2,
        Generation::Large,
        Generation::Pinned,
        Generation::Frozen,
    ];

    /// The generation that the runtime means with a number, in events and in the profiling API.
    pub fn from_number(number: u32) -> Option<Generation> {
        Generation::ALL.get(usize::try_from(number).ok()?).copied().filter(|g| *g != Generation::Frozen)
    }

    /// A few words for people.
    pub fn label(self) -> &'static str {
        match self {
            Generation::Gen0 => "generation 0",
            Generation::Gen1 => "generation 1",
            Generation::Gen2 => "generation 2",
            Generation::Large => "large objects",
            Generation::Pinned => "pinned objects",
            Generation::Frozen => "frozen objects",
        }
    }
}

/// A range of addresses, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenerationRange {
    /// Where it begins.
    pub start: Address,
    /// Where it ends.
    pub end: Address,
    /// Whose it is.
    pub generation: Generation,
}

/// Where the generations lie, sorted by address. Empty when it is not known, as in a `.gcdump`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Generations {
    ranges: Vec<GenerationRange>,
}

impl Generations {
    /// Sorts ranges that come in any order. Empty ones are left out; of two that begin at one place the last one given
    /// counts.
    pub fn new(ranges: impl IntoIterator<Item = GenerationRange>) -> Generations {
        let mut kept: Vec<GenerationRange> =
            ranges.into_iter().filter(|range| range.start < range.end).collect();
        // Stable: the last one given comes last among equals, and stays.
        kept.sort_by_key(|range| range.start);
        kept.dedup_by(|later, earlier| {
            let same = later.start == earlier.start;
            if same {
                *earlier = *later;
            }
            same
        });
        Generations { ranges: kept }
    }

    /// The generation of the object at an address.
    pub fn of(&self, address: Address) -> Option<Generation> {
        let after = self.ranges.partition_point(|range| range.start <= address);
        let range = self.ranges.get(after.checked_sub(1)?)?;
        (address < range.end).then_some(range.generation)
    }

    /// All ranges, by address.
    pub fn ranges(&self) -> &[GenerationRange] {
        &self.ranges
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64, generation: Generation) -> GenerationRange {
        GenerationRange { start: Address(start), end: Address(end), generation }
    }

    #[test]
    fn addresses_find_their_range_and_gaps_find_none() {
        let known = Generations::new([
            range(0x3000, 0x4000, Generation::Large),
            range(0x1000, 0x1800, Generation::Gen2),
            range(0x1800, 0x1900, Generation::Gen0),
            range(0x5000, 0x5000, Generation::Gen1),
        ]);
        let of = |address| known.of(Address(address));
        assert_eq!(known.ranges().len(), 3);
        assert_eq!(
            (of(0xFFF), of(0x1000), of(0x17FF)),
            (None, Some(Generation::Gen2), Some(Generation::Gen2))
        );
        assert_eq!(
            (of(0x1800), of(0x1900), of(0x3FFF)),
            (Some(Generation::Gen0), None, Some(Generation::Large))
        );
        assert_eq!((of(0x4000), of(0x5000), of(u64::MAX)), (None, None, None));
        assert_eq!(Generations::default().of(Address(0)), None);
    }

    #[test]
    fn the_last_word_on_a_place_counts() {
        let known = Generations::new([range(1, 9, Generation::Gen0), range(1, 5, Generation::Gen1)]);
        assert_eq!(known.ranges(), [range(1, 5, Generation::Gen1)]);
    }

    #[test]
    fn numbers_are_those_of_the_runtime() {
        assert_eq!(Generation::from_number(3), Some(Generation::Large));
        assert_eq!(Generation::from_number(4), Some(Generation::Pinned));
        assert_eq!(Generation::from_number(5), None);
    }
}
