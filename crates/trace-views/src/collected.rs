//! The samples of one view, as they come.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stacks::{Sample, StackKey, ThreadSlot, Weight};

use crate::Detail;

/// Samples, with as much detail as is wanted.
pub(crate) struct Collected {
    detail: Detail,
    weight: Weight,
    samples: Vec<Sample>,
    /// The place of a stack of a thread in `samples`, if only totals are kept.
    places: HashMap<(ThreadSlot, Option<StackKey>), usize, RandomState>,
    /// The last sample of each thread in `samples`, if they are kept apart.
    last: Vec<Option<u32>>,
}

impl Collected {
    pub fn new(detail: Detail, weight: Weight) -> Collected {
        Collected { detail, weight, samples: Vec::new(), places: HashMap::default(), last: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    pub fn add(&mut self, sample: Sample) {
        match self.detail {
            Detail::Totals => {
                let samples = &mut self.samples;
                let place = *self.places.entry((sample.thread, sample.stack)).or_insert_with(|| {
                    samples.push(Sample { weight: 0, ..sample });
                    samples.len() - 1
                });
                if let Some(total) = self.samples.get_mut(place) {
                    total.weight = total.weight.saturating_add(sample.weight);
                }
            }
            Detail::TimeLine if self.weight == Weight::Nanoseconds => self.extend_or_push(sample),
            Detail::TimeLine => self.samples.push(sample),
        }
    }

    /// A thread that is still on the stack of its last sample makes that one longer.
    fn extend_or_push(&mut self, sample: Sample) {
        let thread = sample.thread.0 as usize;
        if self.last.len() <= thread {
            self.last.resize(thread + 1, None);
        }
        if let Some(before) = self.last[thread].and_then(|last| self.samples.get_mut(last as usize))
            && before.stack == sample.stack
            && before.at_ns.checked_add(before.weight) == Some(sample.at_ns)
        {
            before.weight = before.weight.saturating_add(sample.weight);
            return;
        }
        self.last[thread] = u32::try_from(self.samples.len()).ok();
        self.samples.push(sample);
    }

    /// Begins again.
    pub fn clear(&mut self) {
        *self = Collected::new(self.detail, self.weight);
    }

    pub fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}
