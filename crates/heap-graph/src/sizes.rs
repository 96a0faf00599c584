//! Object sizes in four bytes each: the few above 4 GB stand in a table beside.

use crate::ids::{as_index, as_u32};

/// The size that says "look into the table".
const IN_TABLE: u32 = u32::MAX;

/// One size per object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    small: Vec<u32>,
    /// By position, ascending.
    large: Vec<(u32, u64)>,
}

impl Sizes {
    pub(crate) fn push(&mut self, size: u64) {
        match u32::try_from(size) {
            Ok(small) if small != IN_TABLE => self.small.push(small),
            _ => {
                self.large.push((as_u32(self.small.len()), size));
                self.small.push(IN_TABLE);
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        match self.small[index] {
            IN_TABLE => self.large_at(index),
            small => u64::from(small),
        }
    }

    #[cold]
    fn large_at(&self, index: usize) -> u64 {
        let found = self.large.binary_search_by_key(&index, |&(at, _)| as_index(at));
        found.map_or(u64::from(IN_TABLE), |at| self.large[at].1)
    }

    pub(crate) fn len(&self) -> usize {
        self.small.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.small.shrink_to_fit();
        self.large.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_around_four_gigabytes_are_exact() {
        let given = [0, 24, 0xffff_fffe, 0xffff_ffff, 0x1_0000_0000, 7, u64::MAX];
        let mut sizes = Sizes::default();
        given.iter().for_each(|&size| sizes.push(size));
        assert_eq!(sizes.iter().collect::<Vec<_>>(), given);
    }
}
