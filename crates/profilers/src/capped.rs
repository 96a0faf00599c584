//! Sums by key that cannot grow without bound.

use std::collections::HashMap;
use std::hash::Hash;

/// Keys beyond this many share one value: a target that makes up names must not fill our memory.
const MOST_KEYS: usize = 4096;

/// A map with a limit to its keys. What has no place gets its value in [`Capped::others`].
#[derive(Debug)]
pub(crate) struct Capped<K, V> {
    values: HashMap<K, V>,
    /// What all keys without a place add up to.
    pub(crate) others: V,
    most: usize,
}

impl<K, V: Default> Default for Capped<K, V> {
    fn default() -> Self {
        Capped { values: HashMap::new(), others: V::default(), most: MOST_KEYS }
    }
}

impl<K: Eq + Hash, V: Default> Capped<K, V> {
    /// The value of a key; that of all others if there is no place for it.
    pub(crate) fn entry(&mut self, key: K) -> &mut V {
        if self.values.len() >= self.most && !self.values.contains_key(&key) {
            return &mut self.others;
        }
        self.values.entry(key).or_default()
    }

    /// All keys with a place, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.values.iter()
    }

    /// All keys with a place, the largest first; equal ones by key, so that reports do not change by chance.
    pub(crate) fn sorted_by_key<N: Ord>(&self, size: impl Fn(&V) -> N) -> Vec<(&K, &V)>
    where
        K: Ord,
    {
        let mut all: Vec<_> = self.values.iter().collect();
        all.sort_by(|(a, small), (b, large)| size(large).cmp(&size(small)).then_with(|| a.cmp(b)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_place_is_still_counted() {
        let mut counts = Capped::<u32, u64> { most: 2, ..Capped::default() };
        for key in [1, 2, 3, 2, 4, 1] {
            *counts.entry(key) += 1;
        }
        assert_eq!(counts.sorted_by_key(|count| *count), [(&1, &2), (&2, &2)]);
        assert_eq!(counts.others, 2);
        assert_eq!(counts.iter().count(), 2);
    }
}
