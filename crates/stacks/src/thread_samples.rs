//! Samples by thread, without a copy of them.

use crate::profile::{Profile, Sample, ThreadSlot};

/// The samples of a profile in the order of their threads: four bytes for each.
#[derive(Debug)]
pub struct ThreadSamples<'a> {
    samples: &'a [Sample],
    /// Places in `samples`, thread by thread.
    order: Vec<u32>,
    /// Where each thread ends in `order`.
    ends: Vec<usize>,
}

impl<'a> ThreadSamples<'a> {
    /// Sorts the samples of a profile by thread. Samples of a thread that the profile does not list are left out.
    #[must_use]
    pub fn new(profile: &'a Profile) -> ThreadSamples<'a> {
        let mut counts = vec![0_usize; profile.threads.len()];
        for sample in &profile.samples {
            if let Some(count) = counts.get_mut(sample.thread.0 as usize) {
                *count += 1;
            }
        }
        let mut ends = counts;
        let mut sum = 0;
        for end in &mut ends {
            // First where each begins; filling in moves it to where each ends.
            sum += std::mem::replace(end, sum);
        }
        let mut order = vec![0_u32; sum];
        for (place, sample) in (0_u32..).zip(&profile.samples) {
            if let Some(end) = ends.get_mut(sample.thread.0 as usize) {
                if let Some(slot) = order.get_mut(*end) {
                    *slot = place;
                }
                *end += 1;
            }
        }
        ThreadSamples { samples: &profile.samples, order, ends }
    }

    /// The samples of one thread, in the order of the profile, which is that of time.
    pub fn of(
        &self,
        thread: ThreadSlot,
    ) -> impl DoubleEndedIterator<Item = &'a Sample> + ExactSizeIterator + Clone + '_ {
        let number = thread.0 as usize;
        let end = self.ends.get(number).copied().unwrap_or(0);
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let samples = self.samples;
        let places = self.order.get(start..end).unwrap_or_default();
        // Every place was counted in the samples themselves.
        places.iter().map(move |place| &samples[*place as usize])
    }
}
