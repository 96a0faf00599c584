//! The queue of objects with finalizers.
//!
//! ```text
//! fill pointers:  gen 4  gen 3  gen 2  gen 1  gen 0  critical  ready
//! array:         |------|------|------|------|------|---------|-----|
//!                 registered: alive as far as known  ready: dead, wait for their finalizer
//! ```

use runtime_memory::Memory;

use crate::variables::Variables;

/// No queue of one heap is longer, and so many of each kind are listed: 32 MB.
const MOST_OBJECTS: u64 = 1 << 30;
const MOST_LISTED: u64 = 4 << 20;

/// Objects with finalizers, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinalizerQueue {
    /// Dead, and kept until their finalizer has run.
    pub ready: Vec<u64>,
    /// Have a finalizer, and are not dead as far as is known.
    pub registered: Vec<u64>,
    /// Whether there were more than are listed here.
    pub is_cut: bool,
}

/// Reads the queues of all heaps. None if one of them could not be read.
pub(crate) fn read(memory: &impl Memory, variables: &Variables) -> Option<FinalizerQueue> {
    let mut found = FinalizerQueue::default();
    for heap in variables.heaps(memory) {
        let queue = memory.pointer(heap.finalize_queue)?;
        let count = usize::try_from(variables.generation_count).ok()?;
        // As many generations, those that are critical, those that are ready; then the array and its end.
        let words = memory.up_to(queue, 8 * (count + 5));
        let words: Vec<u64> =
            words.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight)).collect();
        let fills = words.get(..count + 2)?;
        let (&last_registered, &end) = (fills.get(count - 1)?, fills.get(count + 1)?);
        if !fills.is_sorted() || end.checked_sub(*fills.first()?)? > 8 * MOST_OBJECTS {
            return None;
        }
        let array = words.get(count + 2..)?.iter().find(|array| {
            (1..=*fills.first().unwrap_or(&0)).contains(*array) && end - **array <= 8 * MOST_OBJECTS
        });
        found.is_cut |= append(memory, *array?, last_registered, &mut found.registered)?;
        found.is_cut |= append(memory, last_registered, end, &mut found.ready)?;
    }
    Some(found)
}

/// Adds the objects of a part of the array; whether some were left out.
fn append(memory: &impl Memory, from: u64, to: u64, objects: &mut Vec<u64>) -> Option<bool> {
    let there = to.checked_sub(from)? / 8;
    let taken = there.min(MOST_LISTED.saturating_sub(objects.len() as u64));
    let mut bytes = vec![0; usize::try_from(8 * taken).ok()?];
    if !memory.read(from, &mut bytes) {
        return None;
    }
    let found = bytes.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight));
    objects.extend(found.filter(|object| *object != 0));
    Some(taken < there)
}
