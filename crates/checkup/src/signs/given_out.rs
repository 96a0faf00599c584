//! How much memory a program was given for new objects, by what its collections tell.

use std::collections::BTreeMap;
use std::time::Duration;

use runtime_events::gc_history::GenerationHistory;

/// Memory that the program was given for new objects, as collections see it.
#[derive(Clone, Debug, Default)]
pub(super) struct GivenOut {
    /// Sizes of the generations that new objects come into, after the last collection, by heap.
    after: BTreeMap<u32, [u64; 3]>,
    /// When the first and the last were, in nanoseconds.
    first_ns: Option<u64>,
    last_ns: u64,
    /// Between them.
    bytes: u64,
    /// Bytes that all of them freed.
    pub(super) freed: u64,
}

/// A number of each, summed up.
pub(super) fn total<'a, T: 'a>(each: impl IntoIterator<Item = &'a T>, number: impl Fn(&T) -> u64) -> u64 {
    each.into_iter().map(number).fold(0, u64::saturating_add)
}

impl GivenOut {
    /// A collection. One that ran beside the program and others tells what is left, but not what came since those others.
    pub(super) fn collected(
        &mut self,
        at_ns: u64,
        heap: u32,
        generations: &[GenerationHistory],
        is_concurrent: bool,
    ) {
        let of = |number: usize| generations.get(number).copied().unwrap_or_default();
        // New objects come into three: the youngest, that of large ones, that of pinned ones.
        let born = [of(0), of(3), of(4)];
        let sizes = |size: fn(&GenerationHistory) -> u64| born.each_ref().map(size);
        let freed = total(generations, |one| one.size_before)
            .saturating_sub(total(generations, |one| one.size_after));
        self.freed = self.freed.saturating_add(freed);
        if is_concurrent {
            let [_, large, pinned] = sizes(|one| one.size_after);
            if let Some([_, old_large, old_pinned]) = self.after.get_mut(&heap) {
                (*old_large, *old_pinned) = (large, pinned);
            }
            return;
        }
        let came = self.after.insert(heap, sizes(|one| one.size_after)).map(|after| {
            let pairs = sizes(|one| one.size_before).into_iter().zip(after);
            pairs.map(|(before, after)| before.saturating_sub(after)).fold(0, u64::saturating_add)
        });
        self.bytes = self.bytes.saturating_add(came.unwrap_or(0));
        self.first_ns.get_or_insert(at_ns);
        self.last_ns = at_ns;
    }

    /// Bytes per second, between two collections at least.
    pub(super) fn rate(&self) -> Option<f64> {
        let seconds = Duration::from_nanos(self.last_ns.saturating_sub(self.first_ns?)).as_secs_f64();
        (seconds > 0.0).then(|| self.bytes as f64 / seconds)
    }
}
