//! Which objects some of the roots lead to.

use crate::ids::as_index;

/// A set of objects.
pub(crate) struct Reached {
    bits: Vec<u64>,
}

impl Reached {
    /// What can be reached from these objects, themselves among it.
    pub(crate) fn from(starts: &[u32], targets: &[u32], seeds: impl Iterator<Item = u32>) -> Reached {
        let mut reached = Reached { bits: vec![0; starts.len() / 64 + 1] };
        // No more than one entry for each object: a list of a million links is no deeper than any other heap.
        let mut open: Vec<u32> = seeds.filter(|&seed| reached.insert(seed)).collect();
        while let Some(object) = open.pop() {
            let edges = as_index(starts[as_index(object)])..as_index(starts[as_index(object) + 1]);
            open.extend(targets[edges].iter().copied().filter(|&target| reached.insert(target)));
        }
        reached
    }

    /// Whether an object is in it.
    pub(crate) fn contains(&self, object: u32) -> bool {
        self.bits[as_index(object) / 64] >> (object % 64) & 1 != 0
    }

    /// Puts an object in; whether it is new.
    fn insert(&mut self, object: u32) -> bool {
        let word = &mut self.bits[as_index(object) / 64];
        let bit = 1 << (object % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}
